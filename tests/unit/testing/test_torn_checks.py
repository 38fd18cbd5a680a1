"""Transactions whose records and offsets do not go together, and histories that only look like it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.testing.consistency.anomalies import OffsetWentBack, TornTransaction
from penstock.testing.consistency.checker import REPEATED_AFTER_NS
from penstock.testing.consistency.history import NEVER, End, Generation
from tests.unit.testing.history_script import UNCOMMITTED, UNKNOWN, Script

Story = Callable[[Script], None]
TORN: list[Story] = []
WHOLE: list[Story] = []


def begin(script: Script, *offsets: int) -> None:
    """Offset 10 is committed, and a transaction has written `x` and has these offsets."""
    script.commit(10, "before")
    script.transaction("before")
    script.write("x", 0, "t")
    for offset in offsets:
        script.commit(offset, "t")


def end(script: Script) -> None:
    """The client asks to commit and hears nothing."""
    script.transaction("t", End.COMMIT, UNKNOWN, ended=NEVER)


def torn(story: Story) -> Story:
    TORN.append(story)
    return story


def whole(story: Story) -> Story:
    WHOLE.append(story)
    return story


@torn
def records_without_offsets(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.fetch(10)
    script.read((0, "x"))


@torn
def records_without_the_first_offsets_of_a_group(script: Script) -> None:
    script.write("x", 0, "t")
    script.commit(20, "t")
    end(script)
    script.fetch(-1)
    script.read((0, "x"))


@torn
def offsets_without_records(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.fetch(20)
    script.read()
    script.read((0, "x"), isolation=UNCOMMITTED)


@torn
def offsets_without_records_and_replaced_later(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.fetch(20)
    script.commit(30)
    script.fetch(30)
    script.read()


@torn
def offsets_fetched_after_everything_was_read(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.read((0, "x"))
    script.fetch(10)


@torn
def offsets_of_one_group_only(script: Script) -> None:
    script.commit(20, "t", group="one")
    script.commit(20, "t", group="another")
    end(script)
    script.fetch(20, group="one")
    script.fetch(-1, group="another")


@torn
def records_of_one_partition_without_offsets(script: Script) -> None:
    begin(script, 20)
    script.write("y", 0, "t", partition_index=1)
    end(script)
    script.fetch(10)
    script.read((0, "x"))
    script.read(partition_index=1)


@torn
def records_that_a_consumer_saw(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.poll((0, "x"))
    script.fetch(10)


@torn
def the_offset_before_was_without_an_answer_too_but_seen(script: Script) -> None:
    script.commit(10, "before")
    script.transaction("before", End.COMMIT, UNKNOWN, ended=NEVER)
    script.fetch(10)
    script.write("x", 0, "t")
    script.commit(20, "t")
    end(script)
    script.fetch(10)
    script.read((0, "x"))


@torn
def the_offset_before_was_tried_twice(script: Script) -> None:
    """Either of two may have written it; but when it was fetched, both were decided."""
    for name in ("first", "second"):
        script.commit(10, name)
        script.transaction(name, End.COMMIT, UNKNOWN, ended=NEVER)
    script.fetch(10)
    script.write("x", 0, "t")
    script.commit(20, "t")
    end(script)
    script.fetch(10)
    script.read((0, "x"))


@torn
def offsets_were_lost_before_later_ones_replaced_them(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.fetch(10)
    script.commit(30)
    script.fetch(30)
    script.read((0, "x"))


@whole
def everything_happened(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.fetch(20)
    script.read((0, "x"))


@whole
def nothing_happened(script: Script) -> None:
    begin(script, 20)
    script.poll((0, "x"), isolation=UNCOMMITTED)
    end(script)
    script.fetch(10)
    script.read()


@whole
def replaced_by_a_later_commit(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.commit(30)
    script.fetch(30)
    script.read((0, "x"))


@whole
def replaced_by_the_same_offset_as_before(script: Script) -> None:
    """The group's offset was set back."""
    begin(script, 20)
    end(script)
    script.commit(10)
    script.fetch(10)
    script.read((0, "x"))


@whole
def replaced_by_a_later_transaction_that_is_unknown_as_well(script: Script) -> None:
    begin(script, 20)
    end(script)
    script.write("y", 2, "later")
    script.commit(30, "later")
    script.transaction("later", End.COMMIT, UNKNOWN, ended=NEVER)
    script.fetch(30)
    script.read((0, "x"), (2, "y"))


@whole
def replaced_while_it_was_open(script: Script) -> None:
    """The last write counts, not the last decision."""
    begin(script, 20)
    script.commit(30)
    end(script)
    script.fetch(30)
    script.read((0, "x"))


@whole
def replaced_within_the_transaction(script: Script) -> None:
    begin(script, 20, 21)
    end(script)
    script.fetch(21)
    script.read((0, "x"))


@whole
def fetched_before_the_offset_was_there(script: Script) -> None:
    begin(script)
    script.fetch(10)
    script.commit(20, "t")
    end(script)
    script.read((0, "x"))


@whole
def fetched_while_the_offset_was_on_its_way(script: Script) -> None:
    begin(script)
    script.fetch(10, ended=1000)
    script.commit(20, "t")
    end(script)
    script.read((0, "x"))


@whole
def offset_that_was_not_acknowledged(script: Script) -> None:
    begin(script)
    script.commit(20, "t", UNKNOWN)
    end(script)
    script.fetch(10)
    script.read((0, "x"))


@whole
def older_commit_that_may_have_come_late(script: Script) -> None:
    script.commit(10, outcome=UNKNOWN)
    script.fetch(-1)
    script.write("x", 0, "t")
    script.commit(20, "t")
    end(script)
    script.fetch(10)
    script.read((0, "x"))


@whole
def the_same_offset_of_somebody_else(script: Script) -> None:
    """The transaction did not happen; its client died, and the next one did the work again."""
    begin(script, 20)
    end(script)
    script.write("again", 2, "next")
    script.commit(20, "next")
    script.transaction("next")
    script.fetch(20)
    script.read((2, "again"))


@whole
def value_that_was_not_acknowledged(script: Script) -> None:
    script.write("x", -1, "t", outcome=UNKNOWN)
    script.commit(20, "t")
    end(script)
    script.fetch(20)
    script.read()


@pytest.mark.parametrize("story", TORN, ids=lambda story: story.__name__)
def test_it_is_found(story: Story) -> None:
    script = Script()
    story(script)
    assert script.found() == {TornTransaction}
    assert {each.transaction for each in script.verdict().anomalies} == {"t"}


@pytest.mark.parametrize("story", WHOLE, ids=lambda story: story.__name__)
def test_there_is_nothing_to_find(story: Story) -> None:
    script = Script()
    story(script)
    assert script.verdict().anomalies == []
    assert script.verdict().known_hole == []


def test_the_evidence_names_both_parts() -> None:
    script = Script()
    records_without_offsets(script)
    (anomaly,) = script.verdict().anomalies
    assert "'x' in t-0 can be read, offset 20 of group g in t-0 (watcher got 10) can not" in str(anomaly)


def test_an_offset_that_came_and_went_is_not_torn_but_went_back() -> None:
    script = Script()
    begin(script, 20)
    end(script)
    script.fetch(20)
    script.fetch(10)
    script.read((0, "x"))
    assert script.found() == {OffsetWentBack}


def test_a_later_commit_may_have_come_before_the_end_of_an_earlier_one() -> None:
    script = Script()
    script.commit(20, "t")
    script.commit(30)
    script.transaction("t")
    script.fetch(30)
    assert script.found() == set()


def test_a_partition_that_is_not_read_to_its_end_shows_nothing() -> None:
    script = Script()
    begin(script, 20)
    end(script)
    script.fetch(20)
    script.read(reached=0)
    assert TornTransaction not in script.found()


@pytest.mark.parametrize(("generation", "excused"), [(Generation.V1, True), (Generation.V2, False)])
def test_a_late_end_of_the_first_generation_tears_offsets_off(generation: Generation, excused: bool) -> None:
    """The abort before was slow, so it may have been sent twice, and have hit the offset and not the record."""
    script = Script()
    script.transaction("slow", End.ABORT, generation=generation, started=-3, end_started=-2, ended=REPEATED_AFTER_NS)
    script.commit(20, "t")
    script.write("x", 0, "t")
    script.transaction("t", End.COMMIT, UNKNOWN, generation, started=0, ended=NEVER)
    script.fetch(-1)
    script.read((0, "x"))
    verdict = script.verdict()
    apart, counted = (verdict.known_hole, verdict.anomalies) if excused else (verdict.anomalies, verdict.known_hole)
    assert [type(each) for each in apart] == [TornTransaction]
    assert counted == []
