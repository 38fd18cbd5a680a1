"""Work for logs that is done beside the event loop, and which logs are busy with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from penstock.runtime.clock import Clock
from penstock.runtime.files import Files
from penstock.storage.engine.context import EngineContext
from penstock.storage.engine.jobs.job import Answer, Done
from penstock.storage.engine.open_logs import OpenLogs
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.loop_calls import LoopCalls
from penstock.storage.observer import EngineObserver


class LogWork:
    """Implements `engine.jobs.job.MaintenanceHost`. `on_failed` is called with logs that went offline."""

    def __init__(
        self,
        context: EngineContext,
        files: Files,
        logs: OpenLogs,
        loop: LoopCalls,
        on_failed: Callable[[DiskLog], None],
    ) -> None:
        self._context = context
        self._files = files
        self._logs = logs
        self._loop = loop
        self._on_failed = on_failed
        self._busy: set[DiskLog] = set()
        self._completed: deque[tuple[Done, BaseException | None]] = deque()
        self._is_stopping = False

    @property
    def clock(self) -> Clock:
        return self._context.clock

    @property
    def files(self) -> Files:
        return self._files

    @property
    def observer(self) -> EngineObserver:
        return self._context.observer

    def open_logs(self) -> Iterable[DiskLog]:
        return self._logs.all()

    def is_current(self, log: DiskLog) -> bool:
        return self._logs.is_current(log)

    def is_busy(self, log: DiskLog) -> bool:
        return log in self._busy

    def run_for(self, log: DiskLog, done: Done, function: Callable[..., object], *args: Any) -> None:
        self._busy.add(log)

        def finished(error: BaseException | None) -> None:
            self._busy.discard(log)
            done(error)

        self.run_in_thread(finished, function, *args)

    def run_in_thread(self, done: Done, function: Callable[..., object], *args: Any) -> None:
        if self._is_stopping:
            return

        def completed(_: Any, error: BaseException | None) -> None:
            self._completed.append((done, error))
            self._loop.soon(self.finish)

        self._context.disk_thread.submit(completed, function, *args)

    def run_in_worker(self, answer: Answer, function: Callable[..., object], *args: Any) -> None:
        def answered(result: Any, error: BaseException | None) -> None:
            self._loop.soon(answer, result, error)

        self._context.worker.submit(answered, function, *args)

    def call_soon(self, function: Callable[..., object], *args: Any) -> None:
        self._loop.soon(function, *args)

    def sync_failed(self, log: DiskLog, error: BaseException) -> None:
        if log.state is not LogState.OFFLINE:
            log.flush_failed(error if isinstance(error, OSError) else OSError(repr(error)))
            self._on_failed(log)

    def finish(self) -> None:
        """Do the second halves of what the disk thread has done. Loop thread."""
        while self._completed:
            done, error = self._completed.popleft()
            done(error)

    def forget(self, log: DiskLog) -> None:
        self._busy.discard(log)

    def stop(self) -> None:
        """Begin nothing new."""
        self._is_stopping = True
