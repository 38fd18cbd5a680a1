"""Ranges of partitions, one for each task."""

from __future__ import annotations

from collections.abc import Iterable
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
    """Split ranges into at least `least_count` pieces of at most `most_records`, larger ranges into more pieces."""
    pieces = list(ranges)
    if most_records is not None:
        pieces = [part for each in pieces for part in cut(each, -(-each.size // most_records))]
    total = sum(each.size for each in pieces)
    if least_count is None or len(pieces) >= least_count or not total:
        return pieces
    counts = [max(1, round(each.size / total * least_count)) for each in pieces]
    return [part for each, count in zip(pieces, counts, strict=True) for part in cut(each, count)]


def cut(whole: OffsetRange, count: int) -> list[OffsetRange]:
    """Cut a range into `count` pieces of about the same size, none of them empty. Only the last stays open."""
    count = max(1, min(count, whole.size))
    ends = [whole.first + whole.size * number // count for number in range(count + 1)]
    ends[-1] = max(whole.end, whole.first)
    pieces = [replace(whole, first=first, end=end, is_open=False) for first, end in pairwise(ends)]
    pieces[-1].is_open = whole.is_open
    return pieces
