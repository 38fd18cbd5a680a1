"""Room at the end of the active segment: zeros that later batches are written over.

A write that makes a file longer costs more to sync than one into bytes that are there already, since the new length
has to be written, too: 0.25 instead of 0.15 ms on ext4 and a fast disk. So a segment that gets many small batches is
made longer in steps. Whoever stops writing to it, or finds it after a crash, takes the room away again; a walk over
the batches ends where the zeros begin.
"""

from __future__ import annotations

from penstock.runtime.files import File

STEP_BYTES = 256 << 10
SMALL_BATCH_BYTES = 32 << 10  # the sync of a larger one costs more for its data than for the length


class Room:
    """The room of one log's active segment. Loop thread."""

    __slots__ = ("_end",)

    def __init__(self) -> None:
        self._end = 0

    def make(self, file: File, position: int, size: int) -> None:
        """Before a batch is written at `position`. Small segments get none: there may be very many of them."""
        if position + size <= self._end or size > SMALL_BATCH_BYTES or position < STEP_BYTES:
            return
        try:
            file.allocate(position, STEP_BYTES)
        except OSError:
            return  # a full disk, or a file system that cannot: the write will tell
        self._end = position + STEP_BYTES

    def take_away(self, file: File, size: int) -> None:
        """The segment ends at `size` for now."""
        if self._end:
            file.truncate(size)
            self._end = 0

    def forget(self) -> None:
        """Somebody else has cut the file."""
        self._end = 0

    def __bool__(self) -> bool:
        return self._end > 0


def is_room(file: File, start: int, end: int) -> bool:
    """Whether [start, end) are zeros, and no more than room may have."""
    size = end - start
    return size <= STEP_BYTES and file.pread(size, start).count(0) == size
