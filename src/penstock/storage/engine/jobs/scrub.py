"""Reading everything again, slowly: bytes that went bad on the disk are found before a client needs them.

Sealed segments, one after the other, log after log, at a given number of bytes a second; then from the beginning again.
The checking runs in the worker process; a wrong CRC marks the log damaged, as a read would have. The active segment
is left out: its batches were checked when they came in or when they were recovered.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice

from penstock.storage.engine.jobs.job import Job, MaintenanceHost
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.pace import LOGS_SEEN_PER_TICK
from penstock.storage.recovery.scrub_step import STEP_BYTES, ScrubRequest, ScrubStep, scrub_step
from penstock.storage.segment.segment import Segment

logger = logging.getLogger(__name__)


class Scrub(Job):
    """The endless walk, and how many bytes it may check by now."""

    def __init__(self, host: MaintenanceHost, *, bytes_per_second: int) -> None:
        self._host = host
        self._rate = bytes_per_second
        self._walk = self._endless_walk()
        self._current: tuple[DiskLog, Segment] | None = None
        self._position = 0
        self._next_offset = 0
        self._is_running = False
        self._budget_bytes = 0.0
        self._last_ms: int | None = None
        self.scrubbed_bytes = 0

    def tick(self, now_ms: int) -> None:
        elapsed_ms = 0 if self._last_ms is None else now_ms - self._last_ms
        self._last_ms = now_ms
        self._budget_bytes = min(self._budget_bytes + self._rate * elapsed_ms / 1000, float(STEP_BYTES))
        if self._rate and not self._is_running and self._budget_bytes > 0:
            self._step()

    def _step(self) -> None:
        if self._current is None:
            self._current = self._next_segment()
            if self._current is None:
                return
            self._position, self._next_offset = 0, self._current[1].base_offset
        _, segment = self._current
        self._is_running = True
        request = ScrubRequest(
            segment.path, self._position, segment.size, self._next_offset, segment.end_offset, segment.has_holes
        )
        self._host.run_in_worker(self._checked, scrub_step, self._host.files, request)

    def _next_segment(self) -> tuple[DiskLog, Segment] | None:
        """The next sealed segment; None if there is none among the next few logs, or at the end of a walk."""
        for log, segment in islice(self._walk, LOGS_SEEN_PER_TICK):
            if log is None:
                return None
            if segment is not None and self._is_checkable(log, segment):
                return log, segment
        return None

    def _endless_walk(self) -> Iterator[tuple[DiskLog | None, Segment | None]]:
        """Sealed segments; a log alone where it has none, nothing at the end of a walk."""
        while True:
            for log in list(self._host.open_logs()):
                sealed = log.segments[:-1]
                yield from ((log, segment) for segment in sealed)
                if not sealed:
                    yield log, None
            yield None, None

    def _is_checkable(self, log: DiskLog, segment: Segment) -> bool:
        if not self._host.is_current(log) or log.state is not LogState.ONLINE or segment not in log.segments:
            return False
        return not self._host.is_busy(log)  # its files may be about to change their names

    def _checked(self, step: ScrubStep | None, error: BaseException | None) -> None:
        self._is_running = False
        assert self._current is not None
        log, segment = self._current
        if step is None:
            if not isinstance(error, FileNotFoundError):  # retention or compaction was faster
                logger.warning("scrub of %s: %r", segment.path, error)
            self._current = None
            return
        done_bytes = step.position - self._position
        self._budget_bytes -= done_bytes
        self.scrubbed_bytes += done_bytes
        self._position, self._next_offset = step.position, step.next_offset
        if step.reason is not None and self._is_checkable(log, segment):
            log.damaged(segment, step.position, step.next_offset, step.reason)
        if step.reason is not None or step.position >= segment.size:
            self._current = None
