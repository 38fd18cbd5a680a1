"""The jobs of an engine, ticked four times a second: `engine.jobs` has one file for each."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.runtime.ticker import Ticker
from penstock.storage.engine.jobs.job import Job
from penstock.storage.engine.log_work import LogWork
from penstock.storage.log.log import DiskLog
from penstock.storage.pace import TICK_SECONDS


class Maintenance:
    """Owned by the engine. A thread brings the ticks onto the event loop."""

    def __init__(self, work: LogWork, jobs: Sequence[Job]) -> None:
        """`jobs` in the order in which they are ticked."""
        self._work = work
        self._jobs = jobs
        self._is_stopped = False
        self._ticker = Ticker("penstock-maintenance", TICK_SECONDS, lambda: work.call_soon(self.tick))

    def start(self, *, in_thread: bool) -> None:
        now_ms = self._work.clock.monotonic_ms()
        for job in self._jobs:
            job.start(now_ms, in_thread=in_thread)
        if in_thread:
            self._ticker.start()

    def tick(self) -> None:
        """Start what is due. Loop thread."""
        if self._is_stopped:
            return
        now_ms = self._work.clock.monotonic_ms()
        for job in self._jobs:
            job.tick(now_ms)

    def forget(self, log: DiskLog) -> None:
        """Forget a log whose topic was deleted, or that begins again without records."""
        self._work.forget(log)
        for job in self._jobs:
            job.forget(log)

    def stop(self) -> None:
        """No more ticks, and no new work."""
        self._is_stopped = True
        self._work.stop()
        self._ticker.stop()
        for job in self._jobs:
            job.stop()
