"""Every anomaly by hand: a history that contains it, and the same one without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.testing.consistency.anomalies import (
    AbortedRead,
    Anomaly,
    DuplicateWrite,
    ForeignValue,
    LostWrite,
    OffsetWentBack,
    ReorderedRecords,
    SkippedRecords,
    StuckPartition,
    TornTransaction,
    TwoValues,
    UncommittedOffset,
    UncommittedRead,
)
from penstock.testing.consistency.checker import REPEATED_AFTER_NS
from penstock.testing.consistency.history import End, Generation, History
from tests.unit.testing.history_script import COMMITTED, FAIL, OK, UNCOMMITTED, UNKNOWN, Script

Case = Callable[[Script, bool], None]
CASES: list[tuple[type[Anomaly], Case]] = []


def case(anomaly: type[Anomaly]) -> Callable[[Case], Case]:
    """A function that writes the history, with the anomaly if its second argument says so."""

    def add(function: Case) -> Case:
        CASES.append((anomaly, function))
        return function

    return add


@case(LostWrite)
def plain_write_lost(script: Script, wrong: bool) -> None:
    script.write("x", 0)
    script.write("y", 1)
    script.read(*([] if wrong else [(0, "x")]), (1, "y"))


@case(LostWrite)
def whole_transaction_lost(script: Script, wrong: bool) -> None:
    script.write("x", 0, "t")
    script.transaction("t")
    script.read(*([] if wrong else [(0, "x")]))


@case(LostWrite)
def end_of_the_log_lost(script: Script, wrong: bool) -> None:
    script.write("x", 5)
    script.read(log_end=5) if wrong else script.read((5, "x"), log_end=6)


@case(DuplicateWrite)
def written_twice(script: Script, wrong: bool) -> None:
    script.write("x", -1, outcome=UNKNOWN)
    script.read((0, "x"), *([(1, "x")] if wrong else []))


@case(DuplicateWrite)
def not_where_it_was_acknowledged(script: Script, wrong: bool) -> None:
    script.write("x", 3)
    script.read((4 if wrong else 3, "x"))


@case(TwoValues)
def offset_used_again(script: Script, wrong: bool) -> None:
    script.write("x", -1, outcome=UNKNOWN)
    script.write("y", -1, outcome=UNKNOWN)
    script.poll((0, "x"))
    script.read((0, "y")) if wrong else script.read((0, "x"), (1, "y"))


@case(ForeignValue)
def written_by_nobody(script: Script, wrong: bool) -> None:
    script.write("x", 0)
    script.read((0, "x"), *([(1, "z")] if wrong else []))


@case(AbortedRead)
def aborted_on_purpose(script: Script, wrong: bool) -> None:
    script.write("x", 0, "t")
    script.transaction("t", End.ABORT)
    script.poll((0, "x"), isolation=COMMITTED if wrong else UNCOMMITTED)


@case(AbortedRead)
def client_died_before_the_end(script: Script, wrong: bool) -> None:
    script.write("x", 0, "t")
    script.transaction("t", None if wrong else End.COMMIT, UNKNOWN)
    script.read((0, "x"))


@case(AbortedRead)
def commit_refused(script: Script, wrong: bool) -> None:
    script.write("x", 0, "t")
    script.transaction("t", End.COMMIT, FAIL if wrong else OK)
    script.read((0, "x"))


@case(AbortedRead)
def failed_write(script: Script, wrong: bool) -> None:
    script.write("x", -1, outcome=FAIL if wrong else UNKNOWN)
    script.read((0, "x"), isolation=UNCOMMITTED)


@case(UncommittedRead)
def read_before_the_commit(script: Script, wrong: bool) -> None:
    script.write("x", 0, "t")
    script.poll((0, "x"), isolation=COMMITTED if wrong else UNCOMMITTED)
    script.transaction("t")
    script.read((0, "x"))


@case(TornTransaction)
def committed_by_half(script: Script, wrong: bool) -> None:
    script.write("x", 0, "t")
    script.write("y", 0, "t", partition_index=1)
    script.transaction("t", End.COMMIT, UNKNOWN)
    script.read((0, "x"))
    script.read(*([] if wrong else [(0, "y")]), partition_index=1)


@case(StuckPartition)
def open_for_ever(script: Script, wrong: bool) -> None:
    script.read(log_end=7, reached=3 if wrong else 7)


@case(SkippedRecords)
def skipped_within_a_poll(script: Script, wrong: bool) -> None:
    for number, value in enumerate("xyz"):
        script.write(value, number)
    script.assign(0)
    script.poll((0, "x"), *([] if wrong else [(1, "y")]), (2, "z"))


@case(SkippedRecords)
def skipped_between_polls(script: Script, wrong: bool) -> None:
    for number, value in enumerate("xyz"):
        script.write(value, number)
    script.poll((0, "x"))
    if not wrong:
        script.assign(2)
    script.poll((2, "z"))


@case(SkippedRecords)
def skipped_at_the_start(script: Script, wrong: bool) -> None:
    script.write("x", 0)
    script.write("y", 1)
    script.assign(0 if wrong else -1)
    script.poll((1, "y"))


@case(ReorderedRecords)
def reordered_within_a_poll(script: Script, wrong: bool) -> None:
    script.write("x", 0)
    script.write("y", 1)
    records = [(0, "x"), (1, "y")]
    script.poll(*(reversed(records) if wrong else records))


@case(ReorderedRecords)
def reordered_between_polls(script: Script, wrong: bool) -> None:
    script.write("x", 0)
    script.write("y", 1)
    script.poll((0, "x"), (1, "y"))
    if not wrong:
        script.assign(0)
    script.poll((0, "x"))


@case(OffsetWentBack)
def older_offset_again(script: Script, wrong: bool) -> None:
    script.commit(1)
    script.commit(2)
    script.fetch(1 if wrong else 2)


@case(OffsetWentBack)
def offsets_forgotten(script: Script, wrong: bool) -> None:
    script.commit(1, "t")
    script.transaction("t", End.COMMIT, OK if wrong else UNKNOWN)
    script.fetch(-1)


@case(UncommittedOffset)
def offset_of_an_aborted_transaction(script: Script, wrong: bool) -> None:
    script.commit(1, "t")
    script.transaction("t", End.ABORT if wrong else End.COMMIT)
    script.fetch(1)


@case(UncommittedOffset)
def offset_before_the_commit(script: Script, wrong: bool) -> None:
    script.commit(1, "t")
    if wrong:
        script.fetch(1)
    script.transaction("t")
    script.fetch(1)


@case(UncommittedOffset)
def offset_of_nobody(script: Script, wrong: bool) -> None:
    script.commit(1)
    script.fetch(2 if wrong else 1)


@pytest.mark.parametrize(("anomaly", "write"), CASES, ids=[function.__name__ for _, function in CASES])
def test_it_is_found_and_nothing_where_it_is_not(anomaly: type[Anomaly], write: Case) -> None:
    wrong, right = Script(), Script()
    write(wrong, True)
    write(right, False)
    assert wrong.found() == {anomaly}
    assert right.found() == set()


def test_every_anomaly_has_a_case() -> None:
    assert {anomaly for anomaly, _ in CASES} == set(Anomaly.__subclasses__())


def test_a_committed_transaction_that_is_torn_has_lost_a_write_as_well() -> None:
    script = Script()
    script.write("x", 0, "t")
    script.write("y", 1, "t")
    script.transaction("t")
    script.read((0, "x"))
    assert script.found() == {LostWrite, TornTransaction}
    (torn,) = [each for each in script.verdict().anomalies if isinstance(each, TornTransaction)]
    assert "'x' in t-0 can be read, 'y' in t-0 can not" in str(torn)


def test_a_commit_without_an_answer_may_have_happened_or_not() -> None:
    for shown in ([], [(0, "x"), (1, "y")]):
        script = Script()
        script.write("x", 0, "t")
        script.write("y", 1, "t")
        script.commit(4, "t")
        script.transaction("t", End.COMMIT, UNKNOWN)
        script.fetch(4 if shown else -1)
        script.read(*shown)
        assert script.found() == set()


def test_commits_at_the_same_time_may_come_in_either_order() -> None:
    script = Script()
    script.commit(1, started=10, ended=30)
    script.commit(2, started=10, ended=30)
    script.fetch(1)
    assert script.found() == set()


@pytest.mark.parametrize(
    ("generation", "first_took", "second_producer", "excused"),
    [
        (Generation.V1, REPEATED_AFTER_NS, 0, True),
        (Generation.V1, REPEATED_AFTER_NS, 1, False),
        (Generation.V1, 5, 0, False),
        (Generation.V2, REPEATED_AFTER_NS, 0, False),
    ],
)
def test_the_hole_of_the_first_generation_is_counted_apart(
    generation: Generation, first_took: int, second_producer: int, excused: bool
) -> None:
    """The first commit was slow, so it may have been sent twice, and the second one may have ended what came next."""
    script = Script()
    script.transaction("first", generation=generation, started=1, end_started=2, ended=2 + first_took)
    script.write("x", 0, "second")
    script.transaction("second", End.ABORT, generation=generation, started=20, producer=second_producer)
    script.read((0, "x"))
    verdict = script.verdict()
    apart, counted = (verdict.known_hole, verdict.anomalies) if excused else (verdict.anomalies, verdict.known_hole)
    assert [type(each) for each in apart] == [AbortedRead]
    assert counted == []


def first_generation(script: Script, name: str, end: End, started: int, took: int, *offsets: int) -> None:
    """A transaction of one producer, with a value in every partition in which an offset is given."""
    for partition_index, offset in enumerate(offsets):
        script.write(f"{name}-{partition_index}", offset, name, partition_index=partition_index)
    ended = started + 1 + took
    script.transaction(name, end, generation=Generation.V1, started=started, end_started=started + 1, ended=ended)


@pytest.mark.parametrize(("distance", "excused"), [(1, True), (2, False), (1000, False)])
def test_the_hole_reaches_no_further_than_the_next_transaction(distance: int, excused: bool) -> None:
    """A slow abort, and then transactions of which the last one is lost in one partition of two."""
    script = Script()
    step = 4 * REPEATED_AFTER_NS
    began = -step * (distance + 1)
    first_generation(script, "slow", End.ABORT, began, REPEATED_AFTER_NS)
    for number in range(1, distance + 1):
        first_generation(script, f"t{number}", End.COMMIT, began + number * step, 10, number, number)
    script.read(*((number, f"t{number}-0") for number in range(1, distance + 1)), log_end=2000)
    script.read(*((number, f"t{number}-1") for number in range(1, distance)), log_end=2000, partition_index=1)
    verdict = script.verdict()
    expected, none = (verdict.known_hole, verdict.anomalies) if excused else (verdict.anomalies, verdict.known_hole)
    assert {type(each) for each in expected} == {LostWrite, TornTransaction}
    assert none == []


@pytest.mark.parametrize(("late", "excused"), [(End.ABORT, True), (End.COMMIT, False)])
def test_a_late_commit_loses_nothing(late: End, excused: bool) -> None:
    script = Script()
    first_generation(script, "slow", late, 0, REPEATED_AFTER_NS)
    first_generation(script, "next", End.COMMIT, 2 * REPEATED_AFTER_NS, 10, 0)
    script.read()
    verdict = script.verdict()
    assert [type(each) for each in verdict.anomalies] == ([] if excused else [LostWrite])
    assert len(verdict.known_hole) == int(excused)


def test_the_hole_reaches_a_transaction_that_was_open_beside_the_late_end() -> None:
    """A client that does not wait: the end of the first is answered when its third transaction has begun."""
    script = Script()
    first_generation(script, "slow", End.COMMIT, 0, 5 * REPEATED_AFTER_NS)
    first_generation(script, "second", End.ABORT, REPEATED_AFTER_NS, 10, 0)
    first_generation(script, "third", End.ABORT, 3 * REPEATED_AFTER_NS, 10, 1)
    script.read((0, "second-0"), (1, "third-0"))
    verdict = script.verdict()
    assert [type(each) for each in verdict.known_hole] == [AbortedRead, AbortedRead]
    assert verdict.anomalies == []


def test_the_hole_explains_no_duplicates() -> None:
    script = Script()
    script.transaction("first", outcome=UNKNOWN, generation=Generation.V1, started=1)
    script.write("x", 0, "second")
    script.transaction("second", generation=Generation.V1, started=20)
    script.read((0, "x"), (1, "x"))
    assert script.found() == {DuplicateWrite}


def test_values_must_be_unique() -> None:
    script = Script()
    script.write("x", 0)
    script.write("x", 1)
    with pytest.raises(ValueError, match="unique"):
        History(script.operations)
