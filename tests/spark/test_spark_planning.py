"""How ranges are cut into tasks, how far a batch goes, and how that stands in the checkpoint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption
from penstock_spark.reading.planning.admission import available, limited
from penstock_spark.reading.planning.progress import Progress
from penstock_spark.reading.planning.ranges import OffsetRange, cut, split
from penstock_spark.reading.records.fetch_limits import USUAL, FetchLimits

places = st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 3))
spans = st.dictionaries(places, st.tuples(st.integers(0, 50), st.integers(0, 100)), min_size=1)


@given(st.integers(0, 100), st.integers(0, 100), st.integers(1, 20), st.booleans())
def test_pieces_are_the_whole(first: int, size: int, count: int, is_open: bool) -> None:
    pieces = cut(OffsetRange("a", 0, first, first + size, is_open), count)
    assert [offset for piece in pieces for offset in range(piece.first, piece.end)] == list(range(first, first + size))
    assert len(pieces) == max(1, min(count, size))
    assert [piece.is_open for piece in pieces] == [False] * (len(pieces) - 1) + [is_open]


@given(spans, st.none() | st.integers(1, 30), st.none() | st.integers(1, 40))
def test_tasks_are_as_many_and_as_small_as_wanted(
    given_spans: dict[TopicPartition, tuple[int, int]], least: int | None, most: int | None
) -> None:
    ranges = [OffsetRange(*place, first, first + size) for place, (first, size) in given_spans.items()]
    pieces = split(ranges, least_count=least, most_records=most)
    covered = [(piece.place, offset) for piece in pieces for offset in range(piece.first, piece.end)]
    assert covered == [(each.place, offset) for each in ranges for offset in range(each.first, each.end)]
    if most is not None:
        assert all(piece.size <= most for piece in pieces)
    filled = [piece for piece in pieces if piece.size]
    assert len(filled) >= min(least or 0, len(covered)), "fewer only if there are fewer offsets"


def test_larger_partitions_get_more_tasks() -> None:
    pieces = split([OffsetRange("a", 0, 0, 90), OffsetRange("a", 1, 0, 10)], least_count=10, most_records=None)
    assert [piece.partition for piece in pieces].count(0) == 9


@given(spans, st.integers(1, 60))
def test_a_limit_is_kept_and_always_lets_something_through(
    given_spans: dict[TopicPartition, tuple[int, int]], most: int
) -> None:
    start = {place: first for place, (first, _) in given_spans.items()}
    end = {place: first + size for place, (first, size) in given_spans.items()}
    result = limited(start, end, most)
    assert all(start[place] <= offset <= end[place] for place, offset in result.items())
    assert available(start, result) == min(most, available(start, end))


@given(st.dictionaries(places, st.integers(0, 1 << 40)), st.none() | st.integers(1, 9))
def test_progress_survives_the_checkpoint(offsets: dict[TopicPartition, int], least: int | None) -> None:
    ids = {place.topic: f"id-of-{place.topic}" for place in offsets}
    progress = Progress(offsets, "a group & more", least, ids=ids, began=offsets or None)
    assert Progress.from_json(progress.to_json()) == progress


def test_offsets_mean_nothing_in_a_topic_that_was_made_later() -> None:
    offsets = {TopicPartition("a", 0): 5, TopicPartition("b", 0): 6, TopicPartition("c", 1): 7}
    progress = Progress(offsets, "group", ids={"a": "1", "b": "2"})
    assert progress.of_same_topics({"a": "1", "b": "3", "c": "4"}).keys() == {("a", 0), ("c", 1)}
    assert progress.of_same_topics({}) == offsets, "a topic that has gone is not another one"
    assert Progress(offsets, "group").of_same_topics({"a": "9"}) == offsets, "ids that are not known"


def test_the_form_is_that_of_sparks_own_source() -> None:
    """Theirs is ours without one key, which their parser takes for a topic without partitions."""
    offsets = {TopicPartition("prices", 0): 120, TopicPartition("prices", 1): 90}
    theirs = {"prices": {"0": 120, "1": 90}}
    assert Progress.from_json(theirs) == Progress(offsets, "")
    ours = Progress(offsets, "a group", 8, ids={"prices": "51f7"}, began={TopicPartition("prices", 0): 7}).to_json()
    more = "/penstock/2?group=a+group&least=8&id=prices:51f7&from=prices:0:7"
    assert ours == {**theirs, more: {}}


def test_a_checkpoint_of_the_first_version() -> None:
    stored = {
        "version": 1, "group": "mine", "splits": {"least": 8, "most": 0},
        "offsets": {"prices": {"0": 120}}, "ids": {"prices": "51f7"},
    }  # fmt: skip
    wanted = Progress({TopicPartition("prices", 0): 120}, "mine", 8, ids={"prices": "51f7"})
    assert Progress.from_json(stored) == wanted
    del stored["ids"]
    assert Progress.from_json(stored).ids == {}
    topic = {"version": {"0": 1}}
    assert Progress.from_json(topic).offsets == {TopicPartition("version", 0): 1}, "a topic may be called so"


@pytest.mark.parametrize(
    "value",
    [
        {}, 5, [], "text", None, {"logOffset": 3}, {"prices": {"zero": 5}}, {"prices": {"0": "x"}}, {"prices": [0]},
        {"version": 2, "group": "g", "splits": {}, "offsets": {}}, {"version": 1, "offsets": 5},
        {"prices": {"0": 5}, "/penstock/3?group=a": {}}, {"prices": {"0": 5}, "/penstock/2?": {}},
        {"prices": {"0": 5}, "/penstock/2?group=a&id=b": {}},
    ],
)  # fmt: skip
def test_the_checkpoint_of_something_else(value: object) -> None:
    with pytest.raises(BadOption, match="checkpoint"):
        Progress.from_json(value)


def test_little_is_asked_for_where_little_is_wanted() -> None:
    assert [USUAL.bytes_for(offsets) for offsets in (1, 300, 1_000, 50_000)] == [65_536, 76_800, 256_000, 4 << 20]
    assert FetchLimits(max_bytes=1_000).bytes_for(10) == 1_000
