"""What a log engine does by itself, a little at every tick: recovery points, retention, disk watch, trash, and more.

A tick runs on the event loop and starts what is due; what waits for the disk runs in the engine's thread and comes back
with a call onto the loop. At most one thing at a time is under way for a log (`is_busy`): a recovery point written
while compaction swaps segments would describe files that are gone.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from penstock.storage.checkpoint.checkpoint import Checkpoint
from penstock.storage.compaction.cleaner import Cleaner
from penstock.storage.engine.free_space import FreeSpace
from penstock.storage.engine.opener import Opener
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.log.retention import RetentionPlan, plan_retention, remove_file
from penstock.storage.metadata.topics import UnknownTopic
from penstock.storage.recovery.scrub import Scrubber

if TYPE_CHECKING:
    from penstock.storage.engine.disk_engine import DiskEngine

_log = logging.getLogger(__name__)

TICK_SECONDS = 0.25
# Recovery points in the queue of the disk thread; more would only hold files open.
CHECKPOINTS_UNDER_WAY_MAX = 4
# Logs looked at in one tick, for whatever reason: ten thousand at once would stall the loop.
LOGS_SEEN_PER_TICK = 200

Done = Callable[[BaseException | None], None]


class Upkeep:
    """The engine's timers and what they start. Owned by the engine, whose parts it uses."""

    def __init__(self, engine: DiskEngine) -> None:
        self._engine = engine
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._written: dict[DiskLog, int] = {}  # since when a log has bytes above its recovery point
        self._long: dict[DiskLog, None] = {}  # of those, the ones with so many bytes that they cannot wait
        self._checkpoint_bytes = engine.settings.checkpoint_bytes
        self._busy: set[DiskLog] = set()
        self._active_bases: dict[DiskLog, int] = {}  # base offset of the active segment, in the last recovery point
        self._checkpoint_count = 0
        self._completed: deque[tuple[Done, BaseException | None]] = deque()
        self._retention_ms = 0
        self._looked_ms = 0
        self._aging: deque[DiskLog] = deque()  # still to be looked at by retention
        self.cleaner = Cleaner(engine, self)
        self.scrubber = Scrubber(engine, self)
        self.opener = Opener(engine)
        self.disk_watch = FreeSpace(
            engine.files,
            engine.data,
            engine.gate,
            engine.disk_thread,
            min_free_bytes=engine.settings.min_free_bytes,
            reserve_bytes=engine.settings.reserve_bytes,
        )

    def start(self, *, in_thread: bool) -> None:
        engine = self._engine
        self._retention_ms = engine.clock.monotonic_ms()
        self.opener.start(in_thread=in_thread)
        self.disk_watch.start()
        if in_thread:
            self._thread = threading.Thread(target=self._run, name="penstock-upkeep", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """No more ticks."""
        self._stopping.set()
        self.opener.stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def written(self, log: DiskLog) -> None:
        """Loop thread: bytes were flushed that no recovery point covers."""
        if log not in self._written:
            self._written[log] = self._engine.clock.monotonic_ms()
        if log.unsnapshotted_bytes >= self._checkpoint_bytes:
            self._long[log] = None

    def forget(self, log: DiskLog) -> None:
        self._written.pop(log, None)
        self._long.pop(log, None)
        self._busy.discard(log)
        self._active_bases.pop(log, None)
        self.cleaner.forget(log)

    def is_busy(self, log: DiskLog) -> bool:
        return log in self._busy

    def in_thread(self, log: DiskLog, done: Done, function: Callable[[], object]) -> None:
        """Wait for the disk on behalf of this log, which is busy until `done` is called, on the loop."""
        self._busy.add(log)

        def finished(error: BaseException | None) -> None:
            self._busy.discard(log)
            done(error)

        self._in_thread(finished, function)

    def tick(self) -> None:
        if self._stopping.is_set():
            return
        now_ms = self._engine.clock.monotonic_ms()
        settings = self._engine.settings
        self._start_checkpoints(now_ms)
        # A walk over all logs ends before the next one begins: with many logs it takes longer than the interval.
        if not self._aging and now_ms - self._retention_ms >= settings.retention_check_interval_ms:
            self._retention_ms = now_ms
            self._aging = deque(self._engine.open_logs())
        for _ in range(min(LOGS_SEEN_PER_TICK, len(self._aging))):
            self._expire(self._aging.popleft(), self._engine.clock.now_ms())
        if now_ms - self._looked_ms >= settings.disk_check_interval_ms:
            self._looked_ms = now_ms
            self.disk_watch.look()
        if self._engine.trash.is_full:
            self._engine.trash.is_full = False
            self._in_thread(_ignore, self._engine.trash.empty)
        self.cleaner.tick(now_ms)
        self.scrubber.tick(now_ms)
        self.opener.tick()

    # --- recovery points -------------------------------------------------------------------------------

    def _start_checkpoints(self, now_ms: int) -> None:
        """Logs with much above their recovery point, then those that have waited longest."""
        due_ms = now_ms - self._engine.settings.checkpoint_interval_ms
        waiting = chain(list(self._long), self._overdue(due_ms))
        for log in waiting:
            if self._checkpoint_count >= CHECKPOINTS_UNDER_WAY_MAX:
                return
            if log not in self._busy:
                self.checkpoint(log)

    def _overdue(self, due_ms: int) -> Iterator[DiskLog]:
        """`_written` is in the order of its times: nobody after the first who is not due is due."""
        for log, since_ms in list(islice(self._written.items(), LOGS_SEEN_PER_TICK)):
            if since_ms > due_ms:
                return
            yield log

    def checkpoint(self, log: DiskLog) -> None:
        """Write a recovery point for this log, now."""
        self._written.pop(log, None)
        self._long.pop(log, None)
        covered_bytes = log.unsnapshotted_bytes
        checkpoint = log.checkpoint()
        if checkpoint is None:
            return
        self._busy.add(log)
        self._checkpoint_count += 1
        self._in_thread(self._checkpoint_done(log, checkpoint, covered_bytes), checkpoint.write)

    def is_sealed_below(self, log: DiskLog, offset: int) -> bool:
        """Whether the recovery point knows every segment below `offset` as sealed.

        Compaction changes sealed segments: the recovery point must not expect one of them to grow.
        """
        return self._active_bases.get(log, -1) >= offset

    def seal(self, log: DiskLog) -> None:
        """Begin a recovery point that knows all segments but the active one as sealed."""
        log.want_checkpoint()
        self.checkpoint(log)

    def _checkpoint_done(self, log: DiskLog, checkpoint: Checkpoint, covered_bytes: int) -> Done:
        active_base = log.segments[-1].base_offset

        def done(error: BaseException | None) -> None:
            self._busy.discard(log)
            self._checkpoint_count -= 1
            if error is None:
                log.checkpoint_written(checkpoint)
                self._active_bases[log] = active_base
            elif checkpoint.data_is_synced:
                # Only the recovery point could not be written, say because the disk is full: the data is safe.
                _log.warning("%s-%d: no recovery point: %s", log.topic, log.partition.partition, error)
                log.checkpoint_not_written(covered_bytes)
                self.written(log)
            else:
                self._failed(log, error)

        return done

    def _failed(self, log: DiskLog, error: BaseException) -> None:
        """A sync failed outside a flush round; it will not be reported again."""
        if log.state is not LogState.OFFLINE:
            log.flush_failed(error if isinstance(error, OSError) else OSError(repr(error)))
            self._engine.report_failed(log)

    # --- retention -------------------------------------------------------------------------------------

    def run_retention(self, now_ms: int) -> int:
        """All logs at once; returns the segments that are on their way out."""
        return sum(self._expire(log, now_ms) for log in list(self._engine.open_logs()))

    def _expire(self, log: DiskLog, now_ms: int) -> int:
        if log in self._busy or not self._engine.is_current(log):
            return 0
        try:
            plan = plan_retention(log, now_ms)
        except OSError as error:
            _log.warning("%s-%d: retention: %s", log.topic, log.partition.partition, error)
            return 0
        if plan is None:
            return 0
        self._busy.add(log)
        self._in_thread(self._retention_done(log, plan), plan.make_durable)
        return len(plan.segments)

    def _retention_done(self, log: DiskLog, plan: RetentionPlan) -> Done:
        def done(error: BaseException | None) -> None:
            self._busy.discard(log)
            if isinstance(error, UnknownTopic):
                return  # deleted meanwhile: the files go with the topic
            if error is not None:
                _log.warning("%s-%d: retention: %s", log.topic, log.partition.partition, error)
                if plan.sync_failed:
                    self._failed(log, error)
                return
            paths = plan.finish()
            self._engine.observer.segments_removed(len(plan.segments) if paths else 0)
            for path in paths:
                self._in_thread(_ignore, remove_file, log, path)

        return done

    # --- the rest --------------------------------------------------------------------------------------

    def _in_thread(self, done: Done, function: Callable[..., Any], *args: Any) -> None:
        """Wait for the disk elsewhere, then go on here. Nothing new is begun while the engine is being closed."""
        if self._stopping.is_set():
            return

        def completed(_: Any, error: BaseException | None) -> None:
            self._completed.append((done, error))
            self._engine.call_soon(self.go_on)

        self._engine.disk_thread.submit(completed, function, *args)

    def go_on(self) -> None:
        """Loop thread: the second halves of what the disk thread has done."""
        while self._completed:
            done, error = self._completed.popleft()
            done(error)

    def _run(self) -> None:
        while not self._stopping.wait(TICK_SECONDS):
            self._engine.call_soon(self.tick)


def _ignore(error: BaseException | None) -> None:
    if error is not None:
        _log.warning("%s", error)
