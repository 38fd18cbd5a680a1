"""Which segments a log may forget: by age, by size, and those wholly below its start. Kafka's rules.

Whole segments go, oldest first, and only while everything before them goes, too. The active segment counts:
when all of it is expired it is rolled first, so that even a topic without writers becomes empty. Nothing above
the flushed end is ever touched. A segment whose records have no timestamps is as old as its file.

    plan (loop)            which segments; rolls the active one if it is due
    make_durable (thread)  recovery point above them (their producers are nowhere else), log start, epochs
    finish (loop)          they are gone for readers; returns the files, to be removed after a delay
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from penstock.runtime.descriptors import lacks_descriptors
from penstock.storage.checkpoint.checkpoint import Checkpoint
from penstock.storage.interface import LogConfig, LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.segment.segment import Segment


class AgingSegment(Protocol):
    """A segment, as far as retention goes."""

    end_offset: int
    size: int
    largest_timestamp: int


AnySegment = TypeVar("AnySegment", bound=AgingSegment)


def count_expired(
    segments: Sequence[AnySegment],
    config: LogConfig,
    *,
    log_start: int,
    settled: int,
    now_ms: int,
    written_ms: Callable[[AnySegment], int] | None = None,
) -> int:
    """How many of the oldest segments may go; all of them means that the active one is expired, too.

    `written_ms`: when a segment without timestamps was written; without it, it is never too old.
    """
    excess = sum(segment.size for segment in segments) - config.retention_bytes
    by_size = config.cleanup_delete and config.retention_bytes >= 0
    by_time = config.cleanup_delete and config.retention_ms >= 0
    count = 0
    for segment in segments:
        active = segment is segments[-1]
        if segment.end_offset > settled or (active and segment.size == 0):
            break
        below_start = segment.end_offset <= log_start and not active
        # Compaction may have left nothing of a segment: it must not keep those after it.
        is_empty = segment.size == 0
        latest_ms = segment.largest_timestamp
        if latest_ms < 0 and by_time and not is_empty and written_ms is not None:
            latest_ms = written_ms(segment)
        too_old = by_time and (is_empty or 0 <= latest_ms < now_ms - config.retention_ms)
        too_much = by_size and excess - segment.size >= 0
        if not (below_start or too_old or too_much):
            break
        excess -= segment.size
        count += 1
    return count


class RetentionPlan:
    """Segments on their way out of one log."""

    __slots__ = ("_checkpoint", "_covered_bytes", "_log", "_log_start", "segments")

    def __init__(
        self,
        log: DiskLog,
        segments: Sequence[Segment],
        log_start: int,
        checkpoint: Checkpoint | None,
        covered_bytes: int,
    ) -> None:
        """`covered_bytes`: of the log, by this recovery point and not by the one before."""
        self._log = log
        self._log_start = log_start
        self._checkpoint = checkpoint
        self._covered_bytes = covered_bytes
        self.segments = segments

    def leaves_doubt(self, error: BaseException) -> bool:
        """Whether a failed `make_durable` leaves the data of the log in doubt, and not only its recovery point."""
        if self._checkpoint is None or self._checkpoint.data_is_synced:
            return False
        return not lacks_descriptors(error)  # a file could not be opened, and no sync has failed

    def make_durable(self) -> None:
        """Write a recovery point if one is needed; OSError if that fails. Any thread."""
        if self._checkpoint is not None:
            self._checkpoint.write()
        self._log.save_front(self._log_start)

    def give_up(self) -> None:
        """Keep the segments, after a `make_durable` that failed and left no doubt: another time. Loop thread."""
        if self._checkpoint is not None:
            self._log.checkpoint_not_written(self._covered_bytes)

    def finish(self) -> list[Path]:
        """Drop the segments, after `make_durable`; none if the log has changed them meanwhile. Loop thread."""
        if self._checkpoint is not None:
            self._log.checkpoint_written(self._checkpoint)
        count = len(self.segments)
        if tuple(self._log.segments[:count]) != tuple(self.segments):
            return []
        return self._log.drop_front(count, self._log_start)


def plan_retention(log: DiskLog, now_ms: int) -> RetentionPlan | None:
    """Plan what has to go; None if nothing has. Also forgets idle producers and unused indexes. Loop thread."""
    if log.state is not LogState.ONLINE:
        return None
    log.expire_producers(now_ms)
    log.drop_unused_indexes()
    segments = log.segments
    count = count_expired(
        segments,
        log.config,
        log_start=log.log_start,
        settled=log.settled,
        now_ms=now_ms,
        written_ms=lambda segment: log.files.modified_ms(segment.path),
    )
    if count == 0:
        return None
    if count == len(segments):
        try:
            log.roll()
        except OSError:
            count -= 1  # a full disk: the active segment goes another time
    if count == 0:
        return None
    end_offset = segments[count - 1].end_offset
    checkpoint, covered_bytes = None, log.unsnapshotted_bytes
    if log.snapshot_end < end_offset:
        checkpoint = log.checkpoint()
        if checkpoint is None:
            return None  # one is being written: next time it will cover these segments
    return RetentionPlan(log, segments[:count], max(log.log_start, end_offset), checkpoint, covered_bytes)


def run_retention(log: DiskLog, now_ms: int) -> int:
    """All of it at once, removing the files without delay. Waits for the disk. Returns segments removed."""
    plan = plan_retention(log, now_ms)
    if plan is None:
        return 0
    try:
        plan.make_durable()
    except OSError as error:
        if plan.leaves_doubt(error):
            log.flush_failed(error)
        else:
            plan.give_up()
        raise
    for path in plan.finish():
        remove_file(log, path)
    return len(plan.segments)


def remove_file(log: DiskLog, path: Path) -> None:
    """Remove a file, if it exists: an index file may never have been written. Any thread."""
    try:
        log.files.remove(path)
    except FileNotFoundError:
        pass
