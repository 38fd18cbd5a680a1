"""The log cleaner: which log is compacted next. One at a time, the dirtiest first, by the rules of
`compaction.cleanable`; only segments below the recovery point. The run itself is `engine.jobs.compaction_run`.

All output of a run is written before the first segment is replaced, so there must be space for it: as many segments are
taken as fit above `min_free_bytes`. A run that failed is cleared away and tried again later (`compaction.backoff`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from penstock.config.settings import StorageSettings
from penstock.storage.compaction.backoff import CompactionBackoff
from penstock.storage.compaction.cleanable import FOREVER, Cleanable, active_is_overdue, measure_cleanable
from penstock.storage.compaction.report import log_report
from penstock.storage.engine.catalog import Catalog
from penstock.storage.engine.jobs.checkpoints import Checkpoints
from penstock.storage.engine.jobs.compaction_run import CompactionRun, RunEnd
from penstock.storage.engine.jobs.free_space import FreeSpace
from penstock.storage.engine.jobs.job import Job, MaintenanceHost
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.pace import LOGS_SEEN_PER_TICK
from penstock.storage.segment.segment import Segment

# Recovery points begun at a time for logs that could be compacted if they had one.
SEALED_AT_ONCE_MAX = 4


class Compaction(Job):
    """Looks at all logs every so often, a few a tick; starts on the dirtiest of those that are due."""

    def __init__(
        self,
        host: MaintenanceHost,
        settings: StorageSettings,
        checkpoints: Checkpoints,
        free_space: FreeSpace,
        catalog: Catalog,
    ) -> None:
        self._host = host
        self._interval_ms = settings.compaction_check_interval_ms
        self._min_free_bytes = settings.min_free_bytes
        self._checkpoints = checkpoints
        self._free_space = free_space
        self._catalog = catalog
        self._backoff = CompactionBackoff()
        self._run: CompactionRun | None = None
        self._looked_ms = -FOREVER
        self._is_looking = False
        self._is_waiting = False  # for the disk, on behalf of logs that were found due
        self._sealed: set[DiskLog] = set()  # for which a recovery point was begun since the last look
        self._unvisited: Iterator[DiskLog] = iter(())
        self._due: list[tuple[float, DiskLog]] = []
        self._first_dirties: dict[DiskLog, int] = {}

    def problems(self) -> Mapping[str, str]:
        """Why logs that should be compacted are not."""
        return self._backoff.problems

    def forget(self, log: DiskLog) -> None:
        self._first_dirties.pop(log, None)
        self._sealed.discard(log)
        self._backoff.forget(log)

    def tick(self, now_ms: int) -> None:
        if self._run is not None:
            self._run.tick()
        elif self._is_looking or now_ms - self._looked_ms >= self._interval_ms:
            self._look(now_ms)
        elif self._is_waiting and self._start_dirtiest(self._host.clock.now_ms()):
            self._looked_ms = -FOREVER  # look for the next one as soon as this one is done

    def _look(self, now_ms: int) -> None:
        """Look at the next few logs; when all were seen, start on the dirtiest."""
        if not self._is_looking:
            self._is_looking = True
            self._unvisited = iter(list(self._host.open_logs()))
            self._due = []
            self._sealed.clear()
        wall_ms = self._host.clock.now_ms()
        count = 0
        for log in islice(self._unvisited, LOGS_SEEN_PER_TICK):
            count += 1
            if not log.config.cleanup_compact:
                self._backoff.forget(log)
            elif self._may_clean(log):
                self._roll_overdue(log, wall_ms)
                cleanable = self._measure(log, wall_ms)
                if cleanable.is_due(log.config):
                    self._due.append((cleanable.ratio, log))
                else:
                    self._backoff.forget(log)
        if count < LOGS_SEEN_PER_TICK:
            self._is_looking = False
            if not self._start_dirtiest(wall_ms):
                self._looked_ms = now_ms

    def _start_dirtiest(self, now_ms: int) -> bool:
        """Start on the dirtiest log that was found due; False if none can be begun at this tick."""
        self._is_waiting = False
        waiting_count = 0
        for _, log in sorted(self._due, key=lambda item: -item[0]):
            if waiting_count >= SEALED_AT_ONCE_MAX:
                break
            if not self._may_clean(log):
                continue
            if not self._host.is_busy(log):
                cleanable = self._measure(log, now_ms)
                if not cleanable.is_due(log.config):
                    continue
                cleanable = self._fitting(log, cleanable)
                if not cleanable.segments:
                    continue
                if self._checkpoints.is_sealed_below(log, cleanable.segments[-1].end_offset):
                    self._run = CompactionRun(self._host, log, cleanable, now_ms, self._ended)
                    self._run.start()
                    return True
                if log in self._sealed:
                    continue  # it did not help; not again before the next look
                self._sealed.add(log)
                self._checkpoints.seal(log)
            self._is_waiting = True
            waiting_count += 1
        return False

    def _fitting(self, log: DiskLog, cleanable: Cleanable[Segment]) -> Cleanable[Segment]:
        """Return as many segments as fit on the disk even if nothing is removed; none if no dirty one is among them."""
        free_bytes = self._free_space.free_bytes - self._min_free_bytes
        needed_bytes = 0
        fitting: list[Segment] = []
        for segment in cleanable.segments:
            needed_bytes += segment.size
            if needed_bytes > free_bytes:
                break
            fitting.append(segment)
        if not fitting or fitting[-1].end_offset <= cleanable.first_dirty:
            self._backoff.no_space(log, needed_bytes, free_bytes)
            return cleanable._replace(segments=())
        return cleanable._replace(segments=fitting)

    def _ended(self, log: DiskLog, end: RunEnd) -> None:
        self._run = None
        if end.error is not None:
            self._backoff.failed(log, end.error, self._host.clock.monotonic_ms(), is_final=end.is_final)
        elif end.report is not None:
            self._backoff.forget(log)
            self._first_dirties[log] = end.report.clean_end
            self._catalog.set_first_dirty(log.partition, log.topic, end.report.clean_end)
            self._host.observer.compacted(end.report.seconds)
            log_report(log, end.report)

    def _may_clean(self, log: DiskLog) -> bool:
        if not self._host.is_current(log) or log.state is not LogState.ONLINE:
            return False
        return self._backoff.may_try(log, self._host.clock.monotonic_ms())

    def _measure(self, log: DiskLog, now_ms: int) -> Cleanable[Segment]:
        first_dirty = self._first_dirties.get(log)
        if first_dirty is None:
            first_dirty = self._first_dirties[log] = self._catalog.first_dirty(log.partition)
        return measure_cleanable(log, first_dirty, now_ms)

    def _roll_overdue(self, log: DiskLog, now_ms: int) -> None:
        if active_is_overdue(log, now_ms) and not self._host.is_busy(log):
            log.roll()
