"""One step of the scrub: checking some of the batches of a sealed segment. Runs in the worker process."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from penstock.runtime.files import Files
from penstock.storage.segment.batch_scanner import BatchScanner, ExpectedOffsets

# Checked at a time: long enough to be worth a message to the worker, short enough not to keep other tasks waiting.
STEP_BYTES = 4 << 20


class ScrubRequest(NamedTuple):
    """The segment's file, where to go on in it, and what is known of its offsets."""

    path: Path
    position: int
    end: int
    min_offset: int
    end_offset: int
    has_holes: bool


class ScrubStep(NamedTuple):
    """Where a step ended; `reason` says what is wrong with the batch there, None if nothing is."""

    position: int
    next_offset: int
    reason: str | None


def scrub_step(files: Files, request: ScrubRequest) -> ScrubStep:
    """Check batches from `position` on, about STEP_BYTES of them."""
    file = files.open(request.path, write=False)
    try:
        scanner = BatchScanner(
            file,
            request.position,
            request.end,
            ExpectedOffsets(request.min_offset, request.has_holes, end=request.end_offset),
            verify=True,
        )
        for _ in scanner:
            if scanner.position - request.position >= STEP_BYTES:
                break
        return ScrubStep(scanner.position, scanner.next_offset, scanner.reason)
    finally:
        file.close()
