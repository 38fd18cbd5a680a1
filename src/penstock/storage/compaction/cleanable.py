"""The cleanable part of a log and how dirty it is: the rules of Kafka's cleaner, on disk and in memory.

A log is due when dirty bytes / all bytes ≥ min.cleanable.dirty.ratio, or when something dirty is older than
max.compaction.lag.ms. Only sealed segments below the last stable offset count, none younger than
min.compaction.lag.ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from penstock.storage.interface import LogConfig

FOREVER = (1 << 63) - 1


class DirtySegment(Protocol):
    """The parts of a segment that choosing looks at."""

    end_offset: int
    size: int
    first_timestamp: int
    largest_timestamp: int


AnySegment = TypeVar("AnySegment", bound=DirtySegment)
AnySegment_co = TypeVar("AnySegment_co", bound=DirtySegment, covariant=True)


class CompactedLog(Protocol[AnySegment_co]):
    """The parts of a log that choosing looks at."""

    @property
    def log_start(self) -> int: ...
    @property
    def log_end(self) -> int: ...
    @property
    def last_stable(self) -> int: ...
    @property
    def config(self) -> LogConfig: ...
    @property
    def segments(self) -> tuple[AnySegment_co, ...]: ...


class Cleanable(NamedTuple, Generic[AnySegment]):
    """The part of a log that may be compacted, and how dirty it is."""

    segments: Sequence[AnySegment]  # from the first of the log to the last that may be touched
    first_dirty: int
    ratio: float
    is_overdue: bool  # max.compaction.lag.ms

    def is_due(self, config: LogConfig) -> bool:
        return self.ratio > 0 and (self.is_overdue or self.ratio >= config.min_cleanable_dirty_ratio)


def measure_cleanable(log: CompactedLog[AnySegment], first_dirty: int, now_ms: int) -> Cleanable[AnySegment]:
    config = log.config
    first_dirty = min(max(first_dirty, log.log_start), log.log_end)
    cleanable: list[AnySegment] = []
    for segment in log.segments[:-1]:
        too_young = segment.largest_timestamp > now_ms - config.min_compaction_lag_ms
        if segment.end_offset > log.last_stable or (config.min_compaction_lag_ms > 0 and too_young):
            break
        cleanable.append(segment)
    dirty = [segment for segment in cleanable if segment.end_offset > first_dirty]
    total = sum(segment.size for segment in cleanable)
    dirty_bytes = sum(segment.size for segment in dirty)
    lag_ms = config.max_compaction_lag_ms
    overdue = lag_ms < FOREVER and any(0 <= segment.first_timestamp < now_ms - lag_ms for segment in dirty)
    return Cleanable(cleanable, first_dirty, dirty_bytes / total if total else 0.0, overdue)


def active_is_overdue(log: CompactedLog[AnySegment], now_ms: int) -> bool:
    """Whether the active segment is older than max.compaction.lag.ms and has to roll: active, it is never compacted."""
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms == FOREVER or not log.segments:
        return False
    active = log.segments[-1]
    return active.size > 0 and 0 <= active.first_timestamp < now_ms - lag_ms
