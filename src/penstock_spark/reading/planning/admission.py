"""Admission: how far the next batch of a streaming query goes. Values in, values out: no broker, no clock."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.topic_partition import TopicPartition

Offsets = dict[TopicPartition, int]


def available(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> int:
    """The number of offsets between the two."""
    return sum(max(0, offset - start.get(place, offset)) for place, offset in end.items())


def limited(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], most: int) -> Offsets:
    """At most `most` offsets, in proportion to what each partition has; at least one if there are any."""
    total = available(start, end)
    if total <= most:
        return dict(end)
    result: Offsets = {}
    left = most
    for place in sorted(end):
        size = max(0, end[place] - start[place])
        result[place] = start[place] + min(size, size * most // total)
        left -= result[place] - start[place]
    for place in sorted(end, key=lambda each: end[each] - result[each], reverse=True):
        step = min(1, left, end[place] - result[place])  # the remainder after rounding
        result[place] += step
        left -= step
    return result
