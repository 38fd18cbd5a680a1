"""Filters as ranges: whatever passes a filter is read, once, compared with a search through all records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.offsets import NOT_FOUND
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.planning.conditions import spans_of
from penstock_spark.reading.planning.narrowing import parts
from penstock_spark.reading.planning.ranges import OffsetRange, split
from penstock_spark.reading.planning.spans import MOST, Span, at_most, joined

PLACE = TopicPartition("t", 1)
TIMES = st.integers(-3, 12)


class Record(NamedTuple):
    offset: int
    time_ms: int


# --- the model: three-valued, as SQL is ------------------------------------------------------------------------------

_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: one == other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


def passes(condition: list[Any], record: Record, unknown: bool) -> bool:
    """Whether a record passes; `unknown` is the value of what the condition does not tell of."""
    match condition:
        case ["and", *inner]:
            return all(passes(each, record, unknown) for each in inner)
        case ["or", *inner]:
            return any(passes(each, record, unknown) for each in inner)
        case ["not", ["any"]]:
            return unknown
        case ["not", inner]:
            return not passes(inner, record, not unknown)
        case ["any"]:
            return unknown
        case ["none"]:
            return False
        case ["in", column, values]:
            return any(passes(["=", column, value], record, unknown) for value in values)
    sign, column, value = condition
    own = {
        "topic": PLACE.topic, "partition": PLACE.partition, "offset": record.offset, "timestamp": record.time_ms * 1000,
    }[column]  # fmt: skip
    return _SIGNS[sign](own, value)


def leaves() -> st.SearchStrategy[list[Any]]:
    signs = st.sampled_from(sorted(_SIGNS))
    of_column = {
        "topic": st.sampled_from(["t", "u"]),
        "partition": st.integers(0, 2),
        "offset": st.integers(-2, 22),
        "timestamp": st.integers(-3000, 12000),
    }
    plain = [st.tuples(signs, st.just(name), values).map(list) for name, values in of_column.items()]
    lists = [
        st.tuples(st.just("in"), st.just(name), st.lists(values, max_size=4)).map(list)
        for name, values in of_column.items()
    ]
    return st.one_of(*plain, *lists, st.just(["any"]), st.just(["none"]))


def trees() -> st.SearchStrategy[list[Any]]:
    def further(inner: st.SearchStrategy[list[Any]]) -> st.SearchStrategy[list[Any]]:
        both = st.tuples(st.sampled_from(["and", "or"]), inner, inner).map(list)
        return both | inner.map(lambda each: ["not", each])

    return st.recursive(leaves(), further, max_leaves=8)


def first_of_times(records: list[Record], spans: list[Span]) -> dict[tuple[TopicPartition, int], int]:
    """What ListOffsets answers."""
    times = {-1 if span.since_ms is None or span.since_ms < 0 else span.since_ms for span in spans} - {-1}
    return {(PLACE, time): next((each.offset for each in records if each.time_ms >= time), NOT_FOUND) for time in times}


@given(trees(), st.lists(TIMES, max_size=20), st.booleans())
def test_every_record_that_passes_is_in_exactly_one_range(
    condition: list[Any], times: list[int], unknown: bool
) -> None:
    records = [Record(offset, time) for offset, time in enumerate(times)]
    spans = spans_of(condition, PLACE)
    whole = OffsetRange(*PLACE, 0, len(records))
    ranges = list(parts(whole, spans, first_of_times(records, spans)))
    for record in records:
        held = [each for each in ranges if each.first <= record.offset < each.end]
        assert len(held) <= 1
        if passes(condition, record, unknown):
            assert held
            since, until = held[0].within.since_ms, held[0].within.until_ms
            assert since is None or since <= record.time_ms
            assert until is None or record.time_ms <= until


@given(trees(), st.lists(TIMES, max_size=10), st.lists(TIMES, max_size=10), st.integers(1, 4))
def test_an_open_range_has_what_is_written_after_planning(
    condition: list[Any], before: list[int], after: list[int], pieces: int
) -> None:
    records = [Record(offset, time) for offset, time in enumerate([*before, *after])]
    spans = spans_of(condition, PLACE)
    whole = OffsetRange(*PLACE, 0, len(before), is_open=True)
    ranges = split(
        parts(whole, spans, first_of_times(records[: len(before)], spans)), least_count=pieces, most_records=None
    )
    for record in records:
        found = 0
        for each in ranges:
            end = len(records) if each.is_open else each.end
            end = end if each.within.end is None else min(end, each.within.end)
            found += max(each.first, each.within.first) <= record.offset < end
        assert found <= 1
        if passes(condition, record, unknown=False):
            assert found == 1


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(1, 5)), min_size=MOST + 1, max_size=3 * MOST))
def test_many_spans_become_few_with_all_that_they_had(bounds: list[tuple[int, int]]) -> None:
    spans = [Span(first, first + size) for first, size in bounds]
    few = at_most(joined(spans))
    assert len(few) <= MOST
    for span in spans:
        assert any(each.first <= span.first and each.end is not None and span.first < each.end for each in few)


@pytest.mark.parametrize(
    ("condition", "spans"),
    [
        ([">=", "offset", 5], [Span(5)]),
        (["and", [">=", "offset", 5], ["<", "offset", 9]], [Span(5, 9)]),
        (["in", "offset", [3, 8]], [Span(3, 4), Span(8, 9)]),
        (["=", "partition", 0], []),
        (["=", "partition", 1], [Span()]),
        (["=", "topic", "u"], []),
        (["and"], [Span()]),
        (["=", "offset", -1], []),
        ([">", "timestamp", 5000], [Span(since_ms=6)]),
        ([">=", "timestamp", 5001], [Span(since_ms=6)]),
        (["<", "timestamp", 5001], [Span(until_ms=5)]),
        (["=", "timestamp", 5001], []),
        (["not", ["any"]], [Span()]),
        (["something", "new"], [Span()]),
    ],
)
def test_spans(condition: list[Any], spans: list[Span]) -> None:
    assert spans_of(condition, PLACE) == spans
