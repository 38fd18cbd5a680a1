"""Filters of a query that speak of topic, partition, offset and time, and the spans of a partition that they leave.

They arrive as JSON from the part in the JVM: `["and", …, …]`, `["or", …, …]`, `["not", …]`, `[">=", "offset", 5]`,
`["in", "partition", [0, 1]]`, `["any"]` for a filter on something else and `["none"]` for one that nothing passes.
Times are in microseconds. Nothing is decided here about values: Spark evaluates every filter itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.planning.spans import EVERYTHING, Span, at_most

Condition = list[Any]
"""A filter as JSON has it."""
_OPPOSITES = {"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


def spans_of(condition: Condition, place: TopicPartition) -> list[Span]:
    """Every record of the partition that passes is in one of the spans, which may overlap; [] if none passes."""
    match condition:
        case ["and", *parts]:
            found = [EVERYTHING]
            for part in parts:
                others = spans_of(part, place)
                found = at_most([both for one in found for other in others if not (both := one.both(other)).is_empty])
            return found
        case ["or", *parts]:
            return at_most([span for part in parts for span in spans_of(part, place)])
        case ["not", inner]:
            return _not(inner, place)
        case ["in", column, values]:
            return at_most([span for value in values for span in _leaf("=", column, value, place)])
        case ["none"]:
            return []
        case [sign, column, value]:
            return _leaf(sign, column, value, place)
    return [EVERYTHING]


def _not(condition: Condition, place: TopicPartition) -> list[Span]:
    match condition:
        case ["and", *parts]:
            return spans_of(["or", *(["not", part] for part in parts)], place)
        case ["or", *parts]:
            return spans_of(["and", *(["not", part] for part in parts)], place)
        case ["not", inner]:
            return spans_of(inner, place)
        case ["in", column, values]:
            return spans_of(["and", *(["<>", column, value] for value in values)], place)
        case [sign, column, value] if sign in _OPPOSITES:
            return _leaf(_OPPOSITES[sign], column, value, place)
    return [EVERYTHING]


def _leaf(sign: str, column: str, value: Any, place: TopicPartition) -> list[Span]:
    if sign not in _HOLDS:
        return [EVERYTHING]
    if column in ("topic", "partition"):
        own = place.topic if column == "topic" else place.partition
        return [EVERYTHING] if type(own) is not type(value) or _HOLDS[sign](own, value) else []
    if type(value) is int and column == "offset":
        return [span for span in _offsets(sign, value) if not span.is_empty]
    if type(value) is int and column == "timestamp":
        return _times(sign, value)
    return [EVERYTHING]


def _offsets(sign: str, value: int) -> list[Span]:
    match sign:
        case "=":
            return [Span(value, value + 1)] if value >= 0 else []
        case "<>":
            return [Span(0, max(value, 0)), Span(max(value + 1, 0))]
        case "<":
            return [Span(0, max(value, 0))]
        case "<=":
            return [Span(0, max(value + 1, 0))]
        case ">":
            return [Span(max(value + 1, 0))]
    return [Span(max(value, 0))]


def _times(sign: str, micros: int) -> list[Span]:
    """Records have milliseconds, so a bound between two of them is rounded inwards."""
    below, above = micros // 1000, -(-micros // 1000)
    match sign:
        case "=":
            return [Span(since_ms=above, until_ms=below)] if above == below else []
        case "<":
            return [Span(until_ms=above - 1)]
        case "<=":
            return [Span(until_ms=below)]
        case ">":
            return [Span(since_ms=below + 1)]
        case ">=":
            return [Span(since_ms=above)]
    return [EVERYTHING]
