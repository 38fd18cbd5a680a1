"""Record batches in memory, one after the other in one buffer: the counterpart of a segment file.

    data          batch │ batch │ batch          a bytearray while it grows, bytes when it is sealed
    ends               17      34      60        where each batch ends
    last_offsets        4       9      12        its last offset

One buffer and two arrays: forgetting a segment is three frees however many batches it has, the garbage collector has
nothing to walk over, and a sealed segment goes to the worker process and back as it is.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import partial

from penstock.model.batch import BatchHeader, Buffer, batch_size_at, read_header
from penstock.model.ids import NO_TIMESTAMP
from penstock.storage.interface import ReadSlice
from penstock.storage.segment.aborted_index import AbortedEntry, AbortedIndex
from penstock.storage.segment.segment import EMPTY_SLICE

# Small, whatever segment.bytes says: the active segment is neither compacted nor, as a rule, expired, and a segment
# is what is handed to the worker process at a time.
SEGMENT_BYTES_MAX = 1 << 20


class MemorySegment:
    """Offsets [base_offset, end_offset). Changed on the event loop only; threads may read it meanwhile."""

    __slots__ = (
        "aborted", "base_offset", "data", "end_offset", "ends", "first_timestamp", "largest_timestamp", "last_offsets",
        "size",
    )  # fmt: skip

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.end_offset = base_offset
        self.size = 0
        self.aborted: AbortedIndex | None = None  # hardly any segment has one
        self.first_timestamp = NO_TIMESTAMP
        self.largest_timestamp = NO_TIMESTAMP
        self.data: bytearray | bytes = bytearray()
        self.ends: array[int] = array("q")
        self.last_offsets: array[int] = array("q")

    def add(self, batch: Buffer, last_offset: int, timestamp: int) -> None:
        assert isinstance(self.data, bytearray)
        self.data += batch
        self.size += len(batch)
        self.ends.append(self.size)
        self.last_offsets.append(last_offset)
        self.end_offset = last_offset + 1
        self._note_time(timestamp, timestamp)

    def joined(self, after: MemorySegment) -> MemorySegment:
        """This segment and the next as one; both are sealed, and so is it."""
        both = MemorySegment(self.base_offset)
        both.end_offset = after.end_offset
        both.size = self.size + after.size
        both.data = bytes(self.data) + after.data
        both.ends = self.ends + array("q", [self.size + end for end in after.ends])
        both.last_offsets = self.last_offsets + after.last_offsets
        for entry in (*self.aborted_entries(), *after.aborted_entries()):
            both.note_aborted(entry)
        for one in (self, after):
            both._note_time(one.first_timestamp, one.largest_timestamp)
        return both

    def note_aborted(self, entry: AbortedEntry) -> None:
        """Note that the last batch is the marker of an aborted transaction."""
        if self.aborted is None:
            self.aborted = AbortedIndex()
        self.aborted.add(entry)

    def aborted_entries(self) -> Iterator[AbortedEntry]:
        return iter(()) if self.aborted is None else self.aborted.since(self.base_offset)

    def _note_time(self, first: int, largest: int) -> None:
        self.largest_timestamp = max(self.largest_timestamp, largest)
        if self.first_timestamp < 0:
            self.first_timestamp = first

    def seal(self) -> None:
        """Freeze the segment: no batch is added any more."""
        self.data = bytes(self.data)

    def read(self, offset: int, max_bytes: int, end: int, one_batch_at_least: bool) -> ReadSlice | None:
        """Read as `Log.read` does; None if all batches are below `offset`."""
        first = bisect_left(self.last_offsets, offset)
        if first == len(self.last_offsets):
            return None
        start = self._start(first)
        stop = bisect_left(self.last_offsets, end, first)
        fitting = bisect_right(self.ends, start + max_bytes, first, stop)
        if fitting == first and one_batch_at_least and first < stop:
            fitting += 1
        if fitting == first:
            return EMPTY_SLICE
        first_offset, _ = batch_size_at(self.data, start)
        return ReadSlice(self._slice(start, self.ends[fitting - 1]), first_offset, self.last_offsets[fitting - 1] + 1)

    def batches(self) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Batches of a sealed segment."""
        view = memoryview(self.data)
        for index, end in enumerate(self.ends):
            start = self._start(index)
            yield read_header(view, start), view[start:end]

    def lazy_batches(self, offset: int) -> Iterator[tuple[BatchHeader, Callable[[], Buffer]]]:
        """Batches from the one that holds `offset` on, each with a function that returns its bytes. Any thread."""
        for index in range(bisect_left(self.last_offsets, offset), len(self.last_offsets)):
            start = self._start(index)
            yield read_header(self.data, start), partial(self._slice, start, self.ends[index])

    def _start(self, index: int) -> int:
        return self.ends[index - 1] if index else 0

    def _slice(self, start: int, end: int) -> Buffer:
        """A view of what is sealed. A copy of what is not: a buffer cannot grow while a view of it exists."""
        data = self.data
        return memoryview(data)[start:end] if isinstance(data, bytes) else data[start:end]
