"""Zeros at the end of the active segment, which later batches are written over.

A write that makes a file longer costs more to sync than one into bytes that exist already, since the new length has to
be written, too: 0.25 instead of 0.15 ms on ext4 and a fast disk. So a segment that gets many small batches is made
longer in steps. A roll or a clean stop cuts the zeros off again, and so does recovery after a crash; a walk over the
batches ends where the zeros begin.
"""

from __future__ import annotations

from penstock.runtime.files import File

STEP_BYTES = 256 << 10
SMALL_BATCH_BYTES = 32 << 10  # the sync of a larger one costs more for its data than for the length


class Preallocation:
    """The zeros of one log's active segment; true while there are any. Loop thread."""

    __slots__ = ("end",)

    def __init__(self) -> None:
        self.end = STEP_BYTES
        """Writes below it need no more zeros: their end, or the size that a segment reaches without any."""

    def extend(self, file: File, position: int, size: int) -> None:
        """Lengthen the file before a batch is written at `position`; not for small segments, which may be very many."""
        if position + size <= self.end or size > SMALL_BATCH_BYTES or position < STEP_BYTES:
            return
        try:
            file.allocate(position, STEP_BYTES)
        except OSError:
            return  # a full disk, or a file system that cannot: the write itself will fail if it has to
        self.end = position + STEP_BYTES

    def cut(self, file: File, size: int) -> None:
        """End the file at `size`, where its last batch ends."""
        if self:
            file.truncate(size)
            self.end = STEP_BYTES

    def forget(self) -> None:
        """Start over, since the file was cut elsewhere."""
        self.end = STEP_BYTES

    def __bool__(self) -> bool:
        return self.end > STEP_BYTES


def is_preallocated(file: File, start: int, end: int) -> bool:
    """Whether [start, end) are zeros, and no more of them than one step makes."""
    size = end - start
    return size <= STEP_BYTES and file.pread(size, start).count(0) == size
