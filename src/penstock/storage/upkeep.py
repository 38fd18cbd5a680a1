"""What a log engine does by itself, a little at every tick: recovery points, retention, the trash, unopened logs.

A tick runs on the event loop and starts what is due; what waits for the disk runs in the engine's thread and comes back
with a call onto the loop. At most one thing at a time is under way for a log (`_busy`): a recovery point written while
compaction swaps segments would describe files that are gone.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from penstock.model.ids import PartitionId
from penstock.storage.checkpoint import Checkpoint
from penstock.storage.cleaner import Cleaner
from penstock.storage.interface import LogState
from penstock.storage.log import DiskLog
from penstock.storage.retention import RetentionPlan, plan_retention, remove_file

if TYPE_CHECKING:
    from penstock.storage.manager import DiskEngine

_log = logging.getLogger(__name__)

TICK_SECONDS = 0.25
# Recovery points in the queue of the disk thread; more would only hold files open.
CHECKPOINTS_UNDER_WAY_MAX = 4
# Logs nobody has asked for are opened so many a tick, so that retention reaches them, too.
LOGS_OPENED_PER_TICK = 4


class Upkeep:
    """The engine's timers and what they start. Owned by the engine, whose parts it uses."""

    def __init__(self, engine: DiskEngine) -> None:
        self._engine = engine
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._written: dict[DiskLog, int] = {}  # since when a log has bytes above its recovery point
        self._busy: set[DiskLog] = set()
        self._checkpoint_count = 0
        self._completed: deque[tuple[Callable[[BaseException | None], None], BaseException | None]] = deque()
        self._retention_ms = 0
        self._unvisited: Iterator[PartitionId] = iter(())
        self.cleaner = Cleaner(engine, self._busy.__contains__, self.checkpoint)
        self.trash_is_full = True  # what a crash left

    def start(self, *, in_thread: bool) -> None:
        engine = self._engine
        self._retention_ms = engine.clock.monotonic_ms()
        self._unvisited = iter(list(engine.declared_partitions()))
        if in_thread:
            self._thread = threading.Thread(target=self._run, name="penstock-upkeep", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """No more ticks."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def written(self, log: DiskLog) -> None:
        """Loop thread: bytes were flushed that no recovery point covers."""
        if log not in self._written:
            self._written[log] = self._engine.clock.monotonic_ms()

    def forget(self, log: DiskLog) -> None:
        self._written.pop(log, None)
        self._busy.discard(log)

    def tick(self) -> None:
        if self._stopping.is_set():
            return
        now_ms = self._engine.clock.monotonic_ms()
        self._start_checkpoints(now_ms)
        if now_ms - self._retention_ms >= self._engine.settings.retention_check_interval_ms:
            self._retention_ms = now_ms
            self.run_retention(self._engine.clock.now_ms())
        if self.trash_is_full:
            self.trash_is_full = False
            self._in_thread(_ignore, self._empty_trash)
        self.cleaner.tick(now_ms)
        self._open_some()

    # --- recovery points -------------------------------------------------------------------------------

    def _start_checkpoints(self, now_ms: int) -> None:
        settings = self._engine.settings
        for log, since_ms in list(self._written.items()):
            if self._checkpoint_count >= CHECKPOINTS_UNDER_WAY_MAX:
                return
            due = log.unsnapshotted_bytes >= settings.checkpoint_bytes
            if (due or now_ms - since_ms >= settings.checkpoint_interval_ms) and log not in self._busy:
                self.checkpoint(log)

    def checkpoint(self, log: DiskLog) -> None:
        """Write a recovery point for this log, now."""
        self._written.pop(log, None)
        covered_bytes = log.unsnapshotted_bytes
        checkpoint = log.checkpoint()
        if checkpoint is None:
            return
        self._busy.add(log)
        self._checkpoint_count += 1
        self._in_thread(lambda error: self._checkpoint_done(log, checkpoint, covered_bytes, error), checkpoint.write)

    def _checkpoint_done(
        self, log: DiskLog, checkpoint: Checkpoint, covered_bytes: int, error: BaseException | None
    ) -> None:
        self._busy.discard(log)
        self._checkpoint_count -= 1
        if error is None:
            log.checkpoint_written(checkpoint)
        elif checkpoint.data_is_synced:
            # Only the recovery point could not be written, say because the disk is full: the data is safe.
            _log.warning("%s-%d: no recovery point: %s", log.topic, log.partition.partition, error)
            log.checkpoint_not_written(covered_bytes)
            self.written(log)
        else:
            self._failed(log, error)

    def _failed(self, log: DiskLog, error: BaseException) -> None:
        """A sync failed outside a flush round; it will not be reported again."""
        if log.state is not LogState.OFFLINE:
            log.flush_failed(error if isinstance(error, OSError) else OSError(repr(error)))
            self._engine.report_failed(log)

    # --- retention -------------------------------------------------------------------------------------

    def run_retention(self, now_ms: int) -> int:
        count = 0
        for log in list(self._engine.open_logs()):
            if log in self._busy:
                continue
            try:
                plan = plan_retention(log, now_ms)
            except OSError as error:
                _log.warning("%s-%d: retention: %s", log.topic, log.partition.partition, error)
                continue
            if plan is not None:
                count += len(plan.segments)
                self._busy.add(log)
                self._in_thread(self._retention_done(log, plan), plan.make_durable)
        return count

    def _retention_done(self, log: DiskLog, plan: RetentionPlan) -> Callable[[BaseException | None], None]:
        def done(error: BaseException | None) -> None:
            self._busy.discard(log)
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

    def _open_some(self) -> None:
        """Open a few of the logs that nobody has asked for since the start."""
        opened = 0
        for partition in self._unvisited:
            engine = self._engine
            if engine.is_open(partition) or not engine.is_declared(partition) or not engine.has_files(partition):
                continue
            try:
                engine.log(partition)
            except OSError as error:
                _log.error("%s cannot be opened: %s", partition, error)
            opened += 1
            if opened >= LOGS_OPENED_PER_TICK:
                return

    def _empty_trash(self) -> None:
        engine = self._engine
        for name in engine.files.list_names(engine.data.trash):
            engine.files.remove_tree(engine.data.trash / name)

    def _in_thread(
        self, done: Callable[[BaseException | None], None], function: Callable[..., Any], *args: Any
    ) -> None:
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
