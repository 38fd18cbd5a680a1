"""The interface of the jobs of an engine, and that of the engine for its jobs.

A tick runs on the event loop and starts what is due. Work that waits for the disk runs in the engine's thread, work
that runs Python at length in the worker process; both come back with a call onto the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from penstock.runtime.clock import Clock
from penstock.runtime.files import Files
from penstock.storage.log.log import DiskLog
from penstock.storage.observer import EngineObserver

Done = Callable[[BaseException | None], None]
"""Called on the loop when work in the disk thread has ended, with its error if there is one."""

Answer = Callable[[Any, BaseException | None], None]
"""Called on the loop with the result of the worker process, or with the error."""


class MaintenanceHost(Protocol):
    """The engine, as its jobs see it. Loop thread."""

    @property
    def clock(self) -> Clock: ...
    @property
    def files(self) -> Files: ...
    @property
    def observer(self) -> EngineObserver: ...

    def open_logs(self) -> Iterable[DiskLog]: ...

    def is_current(self, log: DiskLog) -> bool:
        """Whether the log is still in use; its topic may have been deleted."""
        ...

    def is_busy(self, log: DiskLog) -> bool:
        """Whether `run_for` is at work on the log. At most one thing at a time is: a recovery point written while
        compaction swaps segments would describe files that are gone.
        """
        ...

    def run_for(self, log: DiskLog, done: Done, function: Callable[..., object], *args: Any) -> None:
        """Wait for the disk on behalf of a log, which is busy until `done` is called."""
        ...

    def run_in_thread(self, done: Done, function: Callable[..., object], *args: Any) -> None:
        """Wait for the disk elsewhere. Nothing new is begun while the engine is being closed."""
        ...

    def run_in_worker(self, answer: Answer, function: Callable[..., object], *args: Any) -> None: ...

    def call_soon(self, function: Callable[..., object], *args: Any) -> None: ...

    def sync_failed(self, log: DiskLog, error: BaseException) -> None:
        """A sync failed outside a flush round; the kernel will not report it again, so the log goes offline."""
        ...


class Job:
    """One thing that an engine does by itself. Loop thread; times are those of a clock that does not jump."""

    def start(self, now_ms: int, *, in_thread: bool) -> None:
        """Prepare for the first tick. Without `in_thread` the caller makes all ticks."""

    def tick(self, now_ms: int) -> None:
        """Start what is due."""

    def stop(self) -> None:
        """Clean up after the last tick."""

    def forget(self, log: DiskLog) -> None:
        """Forget a log whose topic was deleted, or that begins again without records."""

    def problems(self) -> Mapping[str, str]:
        """Problems for the operator, by the name of the log."""
        return {}
