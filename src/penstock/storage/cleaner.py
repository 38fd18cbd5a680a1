"""Which log is compacted next, and how the result gets into it. The work itself is `storage.compaction`.

One log at a time, the dirtiest first:

    pick (loop)      dirty bytes / all bytes ≥ min.cleanable.dirty.ratio, or older than max.compaction.lag.ms; only
                     sealed, flushed segments below the recovery point, none younger than min.compaction.lag.ms
    compact          worker process
    swap (loop)      `DiskLog.replace_segments`, group by group from the oldest: a tombstone never goes before the
                     records it deletes
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from penstock.runtime.worker import WorkerDied
from penstock.storage.compaction import (
    CleanedGroup,
    CompactionReport,
    CompactionRequest,
    DamagedSegment,
    compact,
)
from penstock.storage.interface import LogConfig, LogState
from penstock.storage.log import DiskLog
from penstock.storage.segment import Segment

if TYPE_CHECKING:
    from penstock.storage.manager import DiskEngine
    from penstock.storage.upkeep import Upkeep

_log = logging.getLogger(__name__)

_FOREVER = (1 << 63) - 1


class Dirt(NamedTuple):
    """How much of a log there is to compact."""

    segments: Sequence[Segment]  # from the first of the log to the last that may be touched
    first_dirty: int
    ratio: float
    is_overdue: bool  # max.compaction.lag.ms

    def is_due(self, config: LogConfig) -> bool:
        return self.ratio > 0 and (self.is_overdue or self.ratio >= config.min_cleanable_dirty_ratio)


def measure_dirt(log: DiskLog, first_dirty: int, now_ms: int) -> Dirt:
    config = log.config
    first_dirty = min(max(first_dirty, log.log_start), log.log_end)
    cleanable: list[Segment] = []
    for segment in log.segments[:-1]:
        too_young = segment.largest_timestamp > now_ms - config.min_compaction_lag_ms
        if segment.end_offset > log.flushed or (config.min_compaction_lag_ms > 0 and too_young):
            break
        cleanable.append(segment)
    dirty = [segment for segment in cleanable if segment.end_offset > first_dirty]
    total = sum(segment.size for segment in cleanable)
    dirty_bytes = sum(segment.size for segment in dirty)
    lag_ms = config.max_compaction_lag_ms
    overdue = lag_ms < _FOREVER and any(0 <= segment.first_timestamp < now_ms - lag_ms for segment in dirty)
    return Dirt(cleanable, first_dirty, dirty_bytes / total if total else 0.0, overdue)


class Cleaner:
    """Compacts the logs of an engine, which owns it. Loop thread."""

    def __init__(self, engine: DiskEngine, upkeep: Upkeep) -> None:
        self._engine = engine
        self._upkeep = upkeep
        self._running: DiskLog | None = None
        self._finished: tuple[DiskLog, CompactionReport, int] | None = None
        self._checked_ms = -_FOREVER
        self._uncleanable: set[DiskLog] = set()
        self._first_dirties: dict[DiskLog, int] = {}

    def tick(self, now_ms: int) -> None:
        """`now_ms`: a clock that does not jump."""
        if self._finished is not None:
            self._swap(*self._finished)
        elif self._running is None:
            interval = self._engine.settings.compaction_check_interval_ms
            if now_ms - self._checked_ms >= interval and not self.run():
                self._checked_ms = now_ms

    def run(self) -> bool:
        """Start on the dirtiest log that is due; False if there is none."""
        now_ms = self._engine.clock.now_ms()
        due: list[tuple[float, DiskLog, Dirt]] = []
        for log in self._engine.open_logs():
            if log.config.cleanup_compact and log.state is LogState.ONLINE and log not in self._uncleanable:
                self._roll_overdue(log, now_ms)
                dirt = measure_dirt(log, self._first_dirty(log), now_ms)
                if dirt.is_due(log.config):
                    due.append((dirt.ratio, log, dirt))
        for _, log, dirt in sorted(due, key=lambda item: -item[0]):
            if self._upkeep.is_busy(log):
                continue
            if self._upkeep.seal_below(log, dirt.segments[-1].end_offset):
                self._start(log, dirt, now_ms)
                return True
        return False

    def _first_dirty(self, log: DiskLog) -> int:
        first_dirty = self._first_dirties.get(log)
        if first_dirty is None:
            first_dirty = self._first_dirties[log] = self._engine.catalog.first_dirty(log.partition)
        return first_dirty

    def forget(self, log: DiskLog) -> None:
        self._first_dirties.pop(log, None)
        self._uncleanable.discard(log)

    def _roll_overdue(self, log: DiskLog, now_ms: int) -> None:
        """The active segment is never compacted: with max.compaction.lag.ms it must not stay active for ever."""
        lag_ms = log.config.max_compaction_lag_ms
        if lag_ms < _FOREVER and log.segments:
            active = log.segments[-1]
            if active.size and 0 <= active.first_timestamp < now_ms - lag_ms and not self._upkeep.is_busy(log):
                log.roll(log.log_end)

    def _start(self, log: DiskLog, dirt: Dirt, now_ms: int) -> None:
        self._running = log
        request = CompactionRequest(
            directory=log.directory,
            segments=[segment.entry() for segment in dirt.segments],
            first_dirty=dirt.first_dirty,
            segment_bytes=log.config.segment_bytes,
            delete_retention_ms=log.config.delete_retention_ms,
            now_ms=now_ms,
            producer_last_offsets=log.producer_last_offsets(),
        )
        self._engine.worker.submit(
            lambda report, error: self._engine.call_soon(self._compacted, log, report, error),
            compact,
            self._engine.files,
            request,
        )

    def _compacted(self, log: DiskLog, report: CompactionReport | None, error: BaseException | None) -> None:
        if report is not None:
            self._swap(log, report)
            return
        if isinstance(error, FileNotFoundError | WorkerDied):
            self._running = None  # retention or the deletion of the topic was faster; or it is simply tried again
            return
        self._give_up(log, error)
        if isinstance(error, DamagedSegment):
            for segment in log.segments:
                if segment.base_offset == error.base_offset:
                    log.damaged(segment, error.position, error.offset, error.reason)

    def _swap(self, log: DiskLog, report: CompactionReport, done_count: int = 0) -> None:
        """Put one group in its place, then let the loop do other things before the next: each waits for the disk."""
        self._finished = None
        if log.state is not LogState.ONLINE or not self._engine.is_current(log):
            self._running = None  # what was written is removed with the topic, or by the next start
        elif self._upkeep.is_busy(log):
            self._finished = log, report, done_count  # at the next tick
        elif done_count < len(report.groups):
            try:
                self._swap_group(log, report.groups[done_count])
            except OSError as error:
                self._give_up(log, error)
            else:
                self._engine.call_soon(self._swap, log, report, done_count + 1)
        else:
            self._running = None
            self._first_dirties[log] = report.clean_end
            self._engine.catalog.set_first_dirty(log.partition, log.topic, report.clean_end)
            self._tell(log, report)

    def _give_up(self, log: DiskLog, error: BaseException | None) -> None:
        self._running = None
        self._uncleanable.add(log)
        _log.error("%s-%d is not compacted until the next start: %r", log.topic, log.partition.partition, error)

    def _swap_group(self, log: DiskLog, group: CleanedGroup) -> None:
        replaced = [segment for segment in log.segments if segment.base_offset in group.base_offsets]
        if [segment.base_offset for segment in replaced] == list(group.base_offsets):
            log.replace_segments(replaced, group.path, group.entry)
        else:
            self._engine.files.remove(group.path)  # retention took some of them meanwhile

    def _tell(self, log: DiskLog, report: CompactionReport) -> None:
        self._engine.observer.compacted(report.seconds)
        name = f"{log.topic}-{log.partition.partition}"
        _log.info("%s compacted to offset %d: %d bytes became %d", name, report.clean_end, report.bytes_before,
                  report.bytes_after)  # fmt: skip
        for problem in report.undecodable:
            _log.warning("%s: kept by compaction because it cannot be decoded: %s", name, problem)
        if report.keyless_count:
            _log.warning("%s: %d records without a key went with compaction", name, report.keyless_count)
