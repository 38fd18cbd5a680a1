"""The part of a segment that a read holds in memory, and the checks before bytes are served for the first time.

The CRC of a batch does not cover its base offset and its length, and both decide what a reader gets. So bytes that this
process did not write are checked as a chain before anything is served from them: from a place whose offset is known
(the segment's beginning, an index entry, where the last read stopped) every batch has to begin where the one before
ended, fit, and lead to the known end. Only then their CRCs mean something.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from penstock.model.batch import CRC_START, HEADER_BYTES, LOG_OVERHEAD_BYTES, BatchHeader, read_header
from penstock.runtime.file_part import FilePart
from penstock.runtime.files import File
from penstock.storage.segment.batch_scanner import CorruptBatch, implausible
from penstock.storage.segment.checked_regions import VerifiedRegions

# Base offset, batch length, last offset delta: all that finding and cutting batches needs.
_PEEK = Struct(">qi11xi")
_peek = _PEEK.unpack_from
_PEEK_BYTES = _PEEK.size
# From here on it is cheaper to map pages than to copy them: the answer is sent straight from the page cache.
MAPPED_BYTES_MIN = 128 << 10


class Chain(NamedTuple):
    """Facts about the batches from `start` to `end` from before they are looked at. Both are batch boundaries."""

    start: int
    offset: int  # no batch begins below it
    is_exact: bool  # the first one begins just there
    has_holes: bool  # compaction or repair may have taken batches
    end: int
    sealed: int  # a boundary at which `sealed_offset` is reached; not known above it
    sealed_offset: int


class Window:
    """A movable window in which batches are searched. `limit` is a batch boundary, and nothing above it is read."""

    __slots__ = ("_base_offset", "_buffer", "_file", "_wait", "end", "limit", "start")

    def __init__(self, file: File, base_offset: int, start: int, limit: int, wait: bool) -> None:
        self._file = file
        self._base_offset = base_offset
        self._wait = wait
        self._buffer: bytes | bytearray | memoryview = b""
        self.limit = limit
        self.start = start
        self.end = start

    def fill(self, start: int, size: int) -> None:
        """Hold `size` bytes from `start` on, or as many as there are below the limit."""
        size = min(size, self.limit - start)
        if self._wait:
            self._buffer = self._file.pread(size, start)
            if len(self._buffer) < size:
                raise CorruptBatch(start, self._base_offset, "the segment is shorter than it was")
        else:
            self._buffer = self._cached(start, size)
        self.start = start
        self.end = start + size

    def _cached(self, start: int, size: int) -> bytearray | memoryview:
        """BlockingIOError if some of it is not in the page cache."""
        if size >= MAPPED_BYTES_MIN:
            mapped = self._file.mapped(size, start)
            if mapped is not None:
                return mapped
        buffer = bytearray(size)
        if self._file.pread_into(buffer, start, wait=False) < size:
            raise BlockingIOError
        return buffer

    def find(self, start: int, offset: int) -> int:
        """Position of the first batch from `start` on that ends at or above `offset`; -1 if there is none."""
        position, limit = start, self.limit
        buffer, origin = self._buffer, self.start
        last = len(buffer) - _PEEK_BYTES
        while position + HEADER_BYTES <= limit:
            at = position - origin
            if 0 <= at <= last:
                base_offset, length, delta = _peek(buffer, at)
            else:
                base_offset, length, delta = self.peek(position)
                buffer, origin = self._buffer, self.start
                last = len(buffer) - _PEEK_BYTES
            if base_offset + delta >= offset:
                return position
            if length < HEADER_BYTES - LOG_OVERHEAD_BYTES:
                raise CorruptBatch(position, base_offset, f"batch length {length}")
            position += length + LOG_OVERHEAD_BYTES
        if position != limit:
            raise CorruptBatch(position, self._base_offset, f"batches end at byte {position}, not {limit}")
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
        if position + size > self.limit or size < HEADER_BYTES:
            offset = self.peek(position)[0]
            raise CorruptBatch(position, offset, f"batch of {size} bytes, {self.limit - position} left")
        if position < self.start or position + size > self.end:
            self.fill(position, max(size, max_bytes))

    def slice(self, start: int, stop: int) -> memoryview:
        return memoryview(self._buffer)[start - self.start : stop - self.start]

    def part(self, start: int, stop: int) -> FilePart | None:
        """The slice as a part of the file for a socket, if it is in the page cache."""
        if isinstance(self._buffer, memoryview):
            return FilePart(self._file.fileno(), start, stop - start)
        return None

    def check(self, chain: Chain, offset: int, stop_offset: int, verified: VerifiedRegions | None) -> int:
        """Check the batches of a chain that are held, and in any case the one with `offset`, up to `stop_offset`.

        Returns the position up to which they are right. CRCs are not computed again for what is `verified`.
        """
        position, expected, is_exact = chain.start, chain.offset, chain.is_exact
        held = self.end
        try:
            while position < chain.end and expected < stop_offset:
                is_wanted = expected <= offset
                if not is_wanted and position + HEADER_BYTES > held:
                    break
                header = self._header(position, expected, chain.end)
                after = position + header.size_bytes
                reason = _broken(chain, position, expected, is_exact, header)
                if reason is not None:
                    raise CorruptBatch(position, expected, reason)
                if not is_wanted and after > held:
                    break
                if verified is None or not verified.covers(position, after):
                    self._check_crc(position, expected, header)
                position, expected, is_exact = after, header.next_offset, not chain.has_holes
        finally:
            if verified is not None and position > chain.start:
                verified.add(chain.start, position)
        return position

    def _header(self, position: int, expected: int, end: int) -> BatchHeader:
        if position + HEADER_BYTES > end:
            raise CorruptBatch(position, expected, f"{end - position} bytes at the end are not a whole batch")
        self.hold(position, HEADER_BYTES, len(self._buffer))
        return read_header(self._buffer, position - self.start)

    def _check_crc(self, position: int, expected: int, header: BatchHeader) -> None:
        size = header.size_bytes
        self.hold(position, size, len(self._buffer))
        if crc32c(self.slice(position + CRC_START, position + size)) != header.crc:
            raise CorruptBatch(position, expected, "CRC-32C does not match")


def _broken(chain: Chain, position: int, expected: int, is_exact: bool, header: BatchHeader) -> str | None:
    """Why this is not the next batch of the chain, or None."""
    reason = implausible(header, expected, chain.end - position)
    if reason is not None:
        return reason
    if is_exact and header.base_offset != expected:
        return f"offset {header.base_offset} instead of {expected}"
    if position >= chain.sealed:
        return None
    after = position + header.size_bytes
    if after > chain.sealed or header.next_offset > chain.sealed_offset:
        return f"offset {header.last_offset} in a part that ends before {chain.sealed_offset}"
    if after == chain.sealed and not chain.has_holes and header.next_offset != chain.sealed_offset:
        return f"ends at offset {header.next_offset}, not {chain.sealed_offset}"
    return None
