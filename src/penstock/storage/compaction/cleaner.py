"""Which log is compacted next, and how the result gets into it. The work itself is `compaction.compaction`.

One log at a time, the dirtiest first:

    pick (loop)      by the rules of `compaction.cleanable`; only segments below the recovery point
    compact          worker process
    swap (thread)    `compaction.swap`, group by group from the oldest: no tombstone goes before the records it deletes

All output is written before the first segment is replaced, so there must be room for it: as many segments are taken as
fit above `min_free_bytes`. What fails is cleared away and tried again later (`compaction.backoff`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from penstock.runtime.worker import WorkerDied
from penstock.storage.compaction.backoff import Setbacks
from penstock.storage.compaction.cleanable import FOREVER, Dirt, active_is_overdue, measure_dirt
from penstock.storage.compaction.compaction import (
    CompactionReport,
    CompactionRequest,
    DamagedSegment,
    compact,
    remove_outputs,
)
from penstock.storage.compaction.swap import SegmentSwap
from penstock.storage.interface import Log, LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.segment import Segment

if TYPE_CHECKING:
    from penstock.storage.engine.disk_engine import DiskEngine
    from penstock.storage.engine.maintenance import Upkeep

_log = logging.getLogger(__name__)

# Logs looked at in one tick, which is on the event loop.
LOGS_SEEN_PER_TICK = 200
# Recovery points begun at a time for logs that could be compacted if they had one.
SEALED_AT_ONCE_MAX = 4


class Cleaner:
    """Compacts the logs of an engine, which owns it. Loop thread."""

    def __init__(self, engine: DiskEngine, upkeep: Upkeep) -> None:
        self._engine = engine
        self._upkeep = upkeep
        self._running: DiskLog | None = None
        self._finished: tuple[DiskLog, CompactionReport, int] | None = None
        self._checked_ms = -FOREVER
        self._is_looking = False
        self._is_waiting = False  # for the disk, on behalf of logs that were found due
        self._sealed: set[DiskLog] = set()  # for which a recovery point was begun since the last look
        self._unseen: Iterator[DiskLog] = iter(())
        self._due: list[tuple[float, DiskLog]] = []
        self.setbacks = Setbacks()
        self._first_dirties: dict[DiskLog, int] = {}

    def tick(self, now_ms: int) -> None:
        """`now_ms`: a clock that does not jump."""
        if self._finished is not None:
            self._swap(*self._finished)
        elif self._running is None:
            interval = self._engine.settings.compaction_check_interval_ms
            if self._is_looking or now_ms - self._checked_ms >= interval:
                self._look(now_ms)
            elif self._is_waiting and self._start_dirtiest(self._engine.clock.now_ms()):
                self._checked_ms = -FOREVER  # as after any log: look for the next one when this one is done

    def _look(self, now_ms: int) -> None:
        """At the next few logs; when all were seen, start on the dirtiest."""
        if not self._is_looking:
            self._is_looking = True
            self._unseen = iter(list(self._engine.open_logs()))
            self._due = []
            self._sealed.clear()
        wall_ms = self._engine.clock.now_ms()
        count = 0
        for log in islice(self._unseen, LOGS_SEEN_PER_TICK):
            count += 1
            if not log.config.cleanup_compact:
                self.setbacks.forget(log)
            elif self._is_cleanable(log):
                self._roll_overdue(log, wall_ms)
                dirt = measure_dirt(log, self._first_dirty(log), wall_ms)
                if dirt.is_due(log.config):
                    self._due.append((dirt.ratio, log))
                else:
                    self.setbacks.forget(log)
        if count < LOGS_SEEN_PER_TICK:
            self._is_looking = False
            if not self._start_dirtiest(wall_ms):
                self._checked_ms = now_ms

    def _start_dirtiest(self, now_ms: int) -> bool:
        """Of the logs that were found due; False if none can be begun yet: some may be at one of the next ticks."""
        self._is_waiting = False
        waiting_count = 0
        for _, log in sorted(self._due, key=lambda item: -item[0]):
            if waiting_count >= SEALED_AT_ONCE_MAX:
                break
            if not self._is_cleanable(log):
                continue
            if not self._upkeep.is_busy(log):
                dirt = measure_dirt(log, self._first_dirty(log), now_ms)
                if not dirt.is_due(log.config):
                    continue
                dirt = self._fitting(log, dirt)
                if not dirt.segments:
                    continue
                if self._upkeep.is_sealed_below(log, dirt.segments[-1].end_offset):
                    self._start(log, dirt, now_ms)
                    return True
                if log in self._sealed:
                    continue  # it did not help; not again before the next look
                self._sealed.add(log)
                self._upkeep.seal(log)
            self._is_waiting = True
            waiting_count += 1
        return False

    def _fitting(self, log: DiskLog, dirt: Dirt[Segment]) -> Dirt[Segment]:
        """As many segments as there is room for, should nothing of them go; none if no dirty one is among them."""
        room_bytes = self._engine.free_bytes - self._engine.settings.min_free_bytes
        needed_bytes = 0
        fitting: list[Segment] = []
        for segment in dirt.segments:
            needed_bytes += segment.size
            if needed_bytes > room_bytes:
                break
            fitting.append(segment)
        if not fitting or fitting[-1].end_offset <= dirt.first_dirty:
            self.setbacks.no_room(log, needed_bytes, room_bytes)
            return dirt._replace(segments=())
        return dirt._replace(segments=fitting)

    def _is_cleanable(self, log: DiskLog) -> bool:
        if not self._engine.is_current(log) or log.state is not LogState.ONLINE:
            return False
        return self.setbacks.may_try(log, self._engine.clock.monotonic_ms())

    def _first_dirty(self, log: DiskLog) -> int:
        first_dirty = self._first_dirties.get(log)
        if first_dirty is None:
            first_dirty = self._first_dirties[log] = self._engine.catalog.first_dirty(log.partition)
        return first_dirty

    def forget(self, log: DiskLog) -> None:
        self._first_dirties.pop(log, None)
        self._sealed.discard(log)
        self.setbacks.forget(log)

    def _roll_overdue(self, log: DiskLog, now_ms: int) -> None:
        if active_is_overdue(log, now_ms) and not self._upkeep.is_busy(log):
            log.roll()

    def _start(self, log: DiskLog, dirt: Dirt[Segment], now_ms: int) -> None:
        self._running = log
        end = dirt.segments[-1].end_offset
        try:
            self._submit(log, dirt, now_ms, log.aborted_entries(0, end, wait=False))
        except BlockingIOError:
            self._find_aborted(log, dirt, now_ms)

    def _find_aborted(self, log: DiskLog, dirt: Dirt[Segment], now_ms: int) -> None:
        """The disk has to be waited for."""
        found: list[AbortedEntry] = []

        def find() -> None:
            found.extend(log.aborted_entries(0, dirt.segments[-1].end_offset, wait=True))

        def done(error: BaseException | None) -> None:
            if error is not None:
                self._give_up(log, error)
            elif self._is_cleanable(log):
                self._submit(log, dirt, now_ms, found)
            else:
                self._running = None

        self._upkeep.in_thread(log, done, find)

    def _submit(self, log: DiskLog, dirt: Dirt[Segment], now_ms: int, aborted: Sequence[AbortedEntry]) -> None:
        request = CompactionRequest(
            directory=log.directory,
            segments=[segment.entry() for segment in dirt.segments],
            first_dirty=dirt.first_dirty,
            segment_bytes=log.config.segment_bytes,
            delete_retention_ms=log.config.delete_retention_ms,
            now_ms=now_ms,
            producer_last_offsets=log.producer_last_offsets(),
            without_holes={segment.base_offset for segment in dirt.segments if not segment.has_holes},
            aborted=aborted,
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
        self._give_up(log, error, for_good=isinstance(error, DamagedSegment))
        if isinstance(error, DamagedSegment):
            for segment in log.segments:
                if segment.base_offset == error.base_offset:
                    log.damaged(segment, error.position, error.offset, error.reason)

    def _swap(self, log: DiskLog, report: CompactionReport, done_count: int = 0) -> None:
        """Put one group after the other in its place; the disk is waited for in a thread."""
        self._finished = None
        if log.state is not LogState.ONLINE or not self._engine.is_current(log):
            self._running = None
            self._discard(log, report, done_count)
        elif self._upkeep.is_busy(log):
            self._finished = log, report, done_count  # at the next tick
        elif done_count < len(report.groups):
            self._swap_group(log, report, done_count)
        else:
            self._running = None
            self.setbacks.forget(log)
            self._first_dirties[log] = report.clean_end
            self._engine.catalog.set_first_dirty(log.partition, log.topic, report.clean_end)
            self._engine.observer.compacted(report.seconds)
            tell_compacted(log, report)

    def _give_up(self, log: DiskLog, error: BaseException | None, *, for_good: bool = False) -> None:
        self._running = None
        self.setbacks.failed(log, error, self._engine.clock.monotonic_ms(), for_good=for_good)

    def _discard(self, log: DiskLog, report: CompactionReport, done_count: int) -> None:
        """What was written for the groups that are not in place yet is of no use."""
        paths = [group.path for group in report.groups[done_count:]]
        if self._engine.is_current(log):  # otherwise it goes with the topic
            self._upkeep.in_thread(log, lambda error: None, lambda: remove_outputs(self._engine.files, paths))

    def _swap_group(self, log: DiskLog, report: CompactionReport, done_count: int) -> None:
        group = report.groups[done_count]
        replaced = [segment for segment in log.segments if segment.base_offset in group.base_offsets]
        if [segment.base_offset for segment in replaced] != list(group.base_offsets):
            self._engine.files.remove(group.path)  # retention took some of them meanwhile
            self._engine.call_soon(self._swap, log, report, done_count + 1)
            return
        try:
            swap = SegmentSwap(log, replaced, group.path, group.entry, group.aborted)
        except OSError as error:
            self._give_up(log, error)
            self._discard(log, report, done_count)
            return

        def done(error: BaseException | None) -> None:
            if not self._engine.is_current(log):
                self._running = None
            elif error is not None:
                self._give_up(log, error, for_good=swap.is_begun)
                if not swap.is_begun:
                    swap.let_go()
                self._discard(log, report, done_count)
            else:
                swap.finish()
                self._upkeep.in_thread(log, lambda _: self._swap(log, report, done_count + 1), swap.let_go)

        self._upkeep.in_thread(log, done, swap.write)


def tell_compacted(log: Log, report: CompactionReport) -> None:
    """What an operator may want to know of a run."""
    name = f"{log.topic}-{log.partition.partition}"
    _log.info("%s compacted to offset %d: %d bytes became %d", name, report.clean_end, report.bytes_before,
              report.bytes_after)  # fmt: skip
    for problem in report.undecodable:
        _log.warning("%s: kept by compaction because it cannot be decoded: %s", name, problem)
    if report.keyless_count:
        _log.warning("%s: %d records without a key went with compaction", name, report.keyless_count)
