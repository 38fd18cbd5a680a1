"""Ranges of partitions, one for each task."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pyspark.sql.datasource import InputPartition

from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.planning.spans import EVERYTHING, Span


@dataclass
class OffsetRange(InputPartition):
    """Offsets from `first` to before `end` of one partition.

    Spark plans a DataFrame once and may run it many times, much later. With `is_open` the range extends to the end at
    the time of the run; `end` is the one at planning. With `from_earliest` records that have aged out since are not
    missed. `known`, if not None, has all partitions at planning; the reader of this range also reads new ones.
    `within` is what a filter leaves of the partition: an open range does not extend beyond it.
    """

    topic: str
    partition: int
    first: int
    end: int
    is_open: bool = False
    from_earliest: bool = False
    known: frozenset[TopicPartition] | None = None
    within: Span = EVERYTHING

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        return max(0, self.end - self.first)


def split(ranges: Iterable[OffsetRange], *, least_count: int | None, most_records: int | None) -> list[OffsetRange]:
    """Split ranges into at least `least_count` pieces of at most `most_records`, larger ranges into more pieces.

    The rule is that of Spark's own source, which may stay below `least_count` by rounding. Here the largest pieces are
    then cut once more, so there are fewer only if there are fewer offsets. Empty ranges stay as they are.
    """
    pieces = list(ranges)
    if most_records is not None:
        pieces = [part for each in pieces for part in cut(each, -(-each.size // most_records))]
    counts = _counts(pieces, least_count or 0)
    return [part for each, count in zip(pieces, counts, strict=True) for part in cut(each, count)]


def _counts(pieces: Sequence[OffsetRange], least: int) -> list[int]:
    """Into how many parts each piece is cut."""
    sizes = [each.size for each in pieces]
    total, filled = sum(sizes), sum(1 for size in sizes if size)
    if filled >= least or not total:
        return [1] * len(pieces)
    small = [each for each in pieces if each.size and _share(each.size, total, least) == 1]
    whole = {each.place for each in small}
    left, parts = total - sum(each.size for each in small), max(1, least - len(small))
    counts = [1 if each.place in whole or not each.size else _share(each.size, left, parts) for each in pieces]
    return _raised(sizes, [min(count, max(1, size)) for count, size in zip(counts, sizes, strict=True)], least)


def _share(size: int, total: int, parts: int) -> int:
    """The parts of a range by its share of all offsets; half a part is one more, as Java rounds."""
    return max(1, math.floor(size / total * parts + 0.5))


def _raised(sizes: Sequence[int], counts: list[int], least: int) -> list[int]:
    """The counts with one more for the largest parts, until there are `least` parts or none can be cut."""
    missing = least - sum(count for count, size in zip(counts, sizes, strict=True) if size)
    largest = [(-(size // count), index) for index, (count, size) in enumerate(zip(counts, sizes, strict=True))]
    heapq.heapify(largest)
    while missing > 0 and largest:
        _, index = heapq.heappop(largest)
        if counts[index] < sizes[index]:
            counts[index] += 1
            missing -= 1
            heapq.heappush(largest, (-(sizes[index] // counts[index]), index))
    return counts


def cut(whole: OffsetRange, count: int) -> list[OffsetRange]:
    """Cut a range into `count` pieces of about the same size, none of them empty. Only the last stays open."""
    count = max(1, min(count, whole.size))
    ends = [whole.first]
    for left in range(count, 0, -1):
        ends.append(ends[-1] + (whole.first + whole.size - ends[-1]) // left)
    pieces = [replace(whole, first=first, end=end, is_open=False) for first, end in pairwise(ends)]
    pieces[-1].is_open = whole.is_open
    return pieces
