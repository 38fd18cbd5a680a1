"""Reading everything again, slowly: bytes that went bad on the disk are found before somebody needs them.

Sealed segments, one after the other, log after log, at a given number of bytes a second; then from the beginning again.
The checking runs in the worker process; a wrong CRC marks the log damaged, as a read would have. The active segment
is left out: what is in it was checked when it came in or when it was recovered.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from penstock.runtime.files import Files
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.segment.batch_scanner import BatchScanner
from penstock.storage.segment.segment import Segment

if TYPE_CHECKING:
    from penstock.storage.engine.disk_engine import DiskEngine
    from penstock.storage.engine.maintenance import Upkeep

_log = logging.getLogger(__name__)

# Checked at a time: long enough to be worth a message to the worker, short enough not to keep others waiting.
STEP_BYTES = 4 << 20
# Logs and segments looked at in one tick, which is on the event loop.
SEEN_PER_TICK = 200


class ScrubStep(NamedTuple):
    """Where a step ended; `reason` says what is wrong with the batch there, None if nothing is."""

    position: int
    next_offset: int
    reason: str | None


def scrub_step(
    files: Files, path: Path, position: int, end: int, min_offset: int, end_offset: int, has_holes: bool
) -> ScrubStep:
    """Worker process. Check the batches of a sealed segment from `position` on, about STEP_BYTES of them."""
    file = files.open(path, write=False)
    try:
        scanner = BatchScanner(
            file, position, end, min_offset=min_offset, verify=True, has_holes=has_holes, end_offset=end_offset
        )
        for _ in scanner:
            if scanner.position - position >= STEP_BYTES:
                break
        return ScrubStep(scanner.position, scanner.next_offset, scanner.reason)
    finally:
        file.close()


class Scrubber:
    """Walks over the logs of an engine, which owns it. Loop thread."""

    def __init__(self, engine: DiskEngine, upkeep: Upkeep) -> None:
        self._engine = engine
        self._upkeep = upkeep
        self._walk = self._walk_for_ever()
        self._current: tuple[DiskLog, Segment] | None = None
        self._position = 0
        self._next_offset = 0
        self._is_running = False
        self._budget_bytes = 0.0
        self._last_ms: int | None = None
        self.scrubbed_bytes = 0

    def tick(self, now_ms: int) -> None:
        """`now_ms`: a clock that does not jump."""
        rate = self._engine.settings.scrub_bytes_per_second
        elapsed_ms = 0 if self._last_ms is None else now_ms - self._last_ms
        self._last_ms = now_ms
        self._budget_bytes = min(self._budget_bytes + rate * elapsed_ms / 1000, float(STEP_BYTES))
        if rate and not self._is_running and self._budget_bytes > 0:
            self._step()

    def _step(self) -> None:
        if self._current is None:
            self._current = self._next_segment()
            if self._current is None:
                return
            self._position, self._next_offset = 0, self._current[1].base_offset
        _, segment = self._current
        self._is_running = True
        self._engine.worker.submit(
            lambda step, error: self._engine.call_soon(self._checked, step, error),
            scrub_step, self._engine.files, segment.path, self._position, segment.size, self._next_offset,
            segment.end_offset, segment.has_holes,
        )  # fmt: skip

    def _next_segment(self) -> tuple[DiskLog, Segment] | None:
        """The next sealed segment; None if there is none among the next few logs, or at the end of a walk."""
        for log, segment in islice(self._walk, SEEN_PER_TICK):
            if log is None:
                return None
            if segment is not None and self._is_checkable(log, segment):
                return log, segment
        return None

    def _walk_for_ever(self) -> Iterator[tuple[DiskLog | None, Segment | None]]:
        """Sealed segments; a log alone where it has none, nothing at the end of a walk."""
        while True:
            for log in list(self._engine.open_logs()):
                sealed = log.segments[:-1]
                yield from ((log, segment) for segment in sealed)
                if not sealed:
                    yield log, None
            yield None, None

    def _is_checkable(self, log: DiskLog, segment: Segment) -> bool:
        if not self._engine.is_current(log) or log.state is not LogState.ONLINE or segment not in log.segments:
            return False
        return not self._upkeep.is_busy(log)  # its files may be about to change their names

    def _checked(self, step: ScrubStep | None, error: BaseException | None) -> None:
        self._is_running = False
        assert self._current is not None
        log, segment = self._current
        if step is None:
            if not isinstance(error, FileNotFoundError):  # retention or compaction was faster
                _log.warning("scrub of %s: %r", segment.path, error)
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
