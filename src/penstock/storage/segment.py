"""One segment: a file of record batches, its index, and how to read a slice of it.

A `Segment` holds numbers and no descriptor; whoever reads or writes brings the file. The log that owns it is
the only one to change it, on the event loop. Reads may run in threads: they look at the numbers once, at the
start.
"""

from __future__ import annotations

from pathlib import Path
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from penstock.model.batch import CRC_START, HEADER_BYTES, LOG_OVERHEAD_BYTES, iter_headers
from penstock.runtime.files import File
from penstock.storage import layout
from penstock.storage.interface import ReadSlice
from penstock.storage.segment_index import SegmentIndex
from penstock.storage.snapshot import SegmentEntry
from penstock.storage.time_index import NO_TIMESTAMP, Times
from penstock.storage.verified import VerifiedRegions

# Base offset, batch length, last offset delta: all that finding and cutting batches needs.
_PEEK = Struct(">qi11xi")
_peek = _PEEK.unpack_from
_PEEK_BYTES = _PEEK.size

EMPTY_SLICE = ReadSlice(b"", -1, -1)


class CorruptBatch(Exception):
    """A batch that is not what was written."""

    def __init__(self, position: int, offset: int, reason: str) -> None:
        super().__init__(f"{reason} at byte {position}, offset {offset}")
        self.position = position
        self.offset = offset
        self.reason = reason


class ReadLimits(NamedTuple):
    """How far a read may go: `end_position` is where the last batch below offset `end` ends, -1 if not known."""

    max_bytes: int
    end: int
    end_position: int
    one_batch_at_least: bool
    wait: bool


class Segment:
    """Offsets [base_offset, end_offset) in `size` bytes. The active segment's end rises with every append."""

    __slots__ = (
        "base_offset",
        "end_offset",
        "first_timestamp",
        "hint",
        "index",
        "index_written",
        "indexed_to",
        "largest_timestamp",
        "largest_timestamp_offset",
        "path",
        "size",
        "verified",
    )

    def __init__(self, directory: Path, base_offset: int, *, known_bytes: int = 0) -> None:
        """`known_bytes`: how much of the file was there before this process; its index is loaded on demand."""
        self.path = layout.log_path(directory, base_offset)
        self.base_offset = base_offset
        self.end_offset = base_offset
        self.size = known_bytes
        self.first_timestamp = NO_TIMESTAMP
        self.largest_timestamp = NO_TIMESTAMP
        self.largest_timestamp_offset = -1
        self.index = SegmentIndex(base_offset, known_bytes)
        self.indexed_to = known_bytes  # position of the last index entry
        self.index_written = False
        self.verified = VerifiedRegions(known_bytes)
        self.hint = (-1, 0)  # where the last read stopped: offset and position

    @property
    def times(self) -> Times:
        return Times(self.first_timestamp, self.largest_timestamp, self.largest_timestamp_offset)

    def entry(self) -> SegmentEntry:
        return SegmentEntry(self.base_offset, self.end_offset, self.size, self.times)

    def note_batch(self, base_offset: int, next_offset: int, size: int, timestamp: int, interval: int) -> None:
        """A batch was written, or found, at the end. `size` rises before `end_offset`: see `read`."""
        position = self.size
        if position - self.indexed_to > interval:
            self.index.live_part().add(base_offset - self.base_offset, position, self.largest_timestamp)
            self.indexed_to = position
        if timestamp > self.largest_timestamp:
            self.largest_timestamp = timestamp
            self.largest_timestamp_offset = base_offset
        if self.first_timestamp < 0:
            self.first_timestamp = timestamp
        self.size = position + size
        self.end_offset = next_offset

    def drop_index(self) -> None:
        """Forget the index of a sealed segment; its files, or a scan, give it back."""
        self.index = SegmentIndex(self.base_offset, self.size)

    def read(self, file: File, offset: int, limits: ReadLimits, verify: str) -> ReadSlice | None:
        """Whole batches from the one that holds `offset`; None if the segment has none at or above it.

        The index must be whole. Raises BlockingIOError (wait=False) or CorruptBatch.
        """
        hint_offset, hint_position = self.hint
        exact = hint_offset == offset
        start = hint_position if exact else self.index.floor(offset)
        end_position = limits.end_position if limits.end_position >= 0 else self.size
        if start >= end_position:
            return None
        want = limits.max_bytes if exact else limits.max_bytes + 4096
        window = _Window(self, file, start, end_position, limits.wait)
        window.fill(start, max(want, HEADER_BYTES))
        first = window.find(offset)
        if first < 0:
            return None
        base_offset, length, delta = window.peek(first)
        size = length + LOG_OVERHEAD_BYTES
        if base_offset + delta >= limits.end:
            return EMPTY_SLICE
        if size > limits.max_bytes and not limits.one_batch_at_least:
            return EMPTY_SLICE
        window.hold(first, size, limits.max_bytes)
        stop, next_offset = self._cut(window, first, base_offset + delta + 1, size, limits)
        records = window.slice(first, stop)
        if verify != "off" and (verify == "always" or not self.verified.covers(first, stop)):
            check_crc(records, first)
            self.verified.add(first, stop)
        self.hint = (next_offset, stop)
        return ReadSlice(records, base_offset, next_offset)

    def _cut(self, window: _Window, first: int, first_end: int, first_size: int, limits: ReadLimits) -> tuple[int, int]:
        """Where the last batch that may be served ends, and the offset after it."""
        stop = min(first + max(limits.max_bytes, first_size), window.end)
        position, next_offset = first + first_size, first_end
        if stop == limits.end_position:
            return stop, min(limits.end, self.end_offset)
        # Jump to the last known batch boundary inside, walk over the rest.
        jump = self.index.floor_position(stop - HEADER_BYTES)
        if limits.end_position < 0:
            jump = min(jump, self.index.floor(limits.end))
        if jump > position:
            position, next_offset = jump, window.peek(jump)[0]
        while position + HEADER_BYTES <= stop:
            base_offset, length, delta = window.peek(position)
            after = position + length + LOG_OVERHEAD_BYTES
            if after > stop or base_offset + delta >= limits.end:
                break
            position, next_offset = after, base_offset + delta + 1
        return position, next_offset


class _Window:
    """The part of a segment that a read holds in memory: batches are looked for in it, and it moves if need be."""

    __slots__ = ("_buffer", "_file", "_limit", "_segment", "_wait", "end", "start")

    def __init__(self, segment: Segment, file: File, start: int, limit: int, wait: bool) -> None:
        self._segment = segment
        self._file = file
        self._limit = limit
        self._wait = wait
        self._buffer: bytes | bytearray = b""
        self.start = start
        self.end = start

    def fill(self, start: int, size: int) -> None:
        """Hold `size` bytes from `start` on, or as many as there are below the limit."""
        size = min(size, self._limit - start)
        if self._wait:
            self._buffer = self._file.pread(size, start)
            if len(self._buffer) < size:
                raise CorruptBatch(start, self._segment.base_offset, "the segment is shorter than it was")
        else:
            self._buffer = bytearray(size)
            if self._file.pread_into(self._buffer, start, wait=False) < size:
                raise BlockingIOError  # the rest is not in the page cache
        self.start = start
        self.end = start + size

    def find(self, offset: int) -> int:
        """Position of the first batch that ends at or above `offset`; -1 if none below the limit does."""
        position = self.start
        while position + HEADER_BYTES <= self._limit:
            base_offset, length, delta = self.peek(position)
            if base_offset + delta >= offset:
                return position
            if length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
                raise CorruptBatch(position, base_offset, f"batch length {length}")
            position += length + LOG_OVERHEAD_BYTES
        return -1

    def peek(self, position: int) -> tuple[int, int, int]:
        """Base offset, batch length, last offset delta; moves the window if the batch starts outside."""
        at = position - self.start
        if at < 0 or at + _PEEK_BYTES > len(self._buffer):
            self.fill(position, max(len(self._buffer), HEADER_BYTES))
            at = 0
        return _peek(self._buffer, at)

    def hold(self, position: int, size: int, max_bytes: int) -> None:
        """Make sure that the batch at `position` is held whole."""
        if position + size > self._limit or size < HEADER_BYTES:
            offset = self.peek(position)[0]
            raise CorruptBatch(position, offset, f"batch of {size} bytes, {self._limit - position} left")
        if position + size > self.end:
            self.fill(position, max(size, max_bytes))

    def slice(self, start: int, stop: int) -> memoryview:
        return memoryview(self._buffer)[start - self.start : stop - self.start]


def check_crc(records: memoryview, position: int) -> None:
    """CorruptBatch at the first batch whose CRC is wrong; `position` is where the records lie in the segment."""
    checked = 0
    for at, header in iter_headers(records):
        checked = at + header.size_bytes
        if crc32c(records[at + CRC_START : checked]) != header.crc:
            raise CorruptBatch(position + at, header.base_offset, "CRC-32C does not match")
    if checked != len(records):
        offset = _peek(records, checked)[0] if len(records) - checked >= _PEEK_BYTES else -1
        raise CorruptBatch(position + checked, offset, "not a whole batch")
