"""Walking over a segment's bytes, batch by batch, trusting nothing.

`BatchScanner` goes from batch to batch until the bytes stop making sense and says where and why.
`find_batch` is the opposite: it looks for any whole batch in bytes that made no sense, which distinguishes
damage from a torn tail. Both read in chunks and hold one chunk or one batch in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from penstock.model.batch import CRC_START, HEADER_BYTES, LOG_OVERHEAD_BYTES, BatchHeader, read_header
from penstock.model.control_record import Marker, parse_marker
from penstock.runtime.files import File
from penstock.storage.segment.offset_index import RELATIVE_OFFSET_MAX
from penstock.storage.segment.preallocation import is_preallocated

CHUNK_BYTES = 1 << 20
# No frame is larger than 100 MiB; a length above this is noise and must not cost memory.
BATCH_BYTES_MAX = 256 << 20

# Base offset below 2^56, length below 2^28, magic 2: the cheap part of recognising a batch anywhere.
_LOOKS_LIKE_BATCH = re.compile(rb"(?=\x00.{7}[\x00-\x0f].{7}\x02)", re.DOTALL)


class CorruptBatch(Exception):
    """A batch that is not what was written. `offset`: everything below it is sound."""

    def __init__(self, position: int, offset: int, reason: str) -> None:
        super().__init__(f"{reason} at byte {position}, offset {offset}")
        self.position = position
        self.offset = offset
        self.reason = reason


class ExpectedOffsets(NamedTuple):
    """The offsets that the batches of a part may have: they rise, starting at `first` or above.

    Without holes each batch begins where the one before ended, and the last one leads to `end`, if that is known. None
    reaches `end`, or the lower `limit`.
    """

    first: int
    has_holes: bool = True
    end: int | None = None
    limit: int | None = None


class BatchScanner:
    """Iterate over (position, header). Afterwards `position` is the first byte that is not a good batch.

    `reason` is None if the end was reached exactly, or, where that is allowed, but for preallocated zeros.
    """

    __slots__ = (
        "_allows_preallocation", "_end", "_end_offset", "_file", "_has_holes", "_offset_limit", "_verify",
        "batch_count", "chunk", "chunk_start", "next_offset", "position", "reason",
    )  # fmt: skip

    def __init__(
        self,
        file: File,
        position: int,
        end: int,
        offsets: ExpectedOffsets,
        *,
        verify: bool,
        allows_preallocation: bool = False,
    ) -> None:
        self._allows_preallocation = allows_preallocation
        self._file = file
        self._end = end
        self._verify = verify
        self._has_holes = offsets.has_holes
        self._end_offset = offsets.end
        self._offset_limit = offsets.end if offsets.limit is None else offsets.limit
        self.position = position
        self.next_offset = offsets.first
        self.reason: str | None = None
        self.batch_count = 0
        self.chunk: bytes = b""
        self.chunk_start = position

    def __iter__(self) -> Iterator[tuple[int, BatchHeader]]:
        end = self._end
        while self.position < end:
            position = self.position
            at = position - self.chunk_start
            if at + HEADER_BYTES > len(self.chunk):
                if not self._load(position, HEADER_BYTES):
                    break
                at = 0
            header = read_header(self.chunk, at)
            size = header.batch_length + LOG_OVERHEAD_BYTES
            self.reason = implausible(header, self.next_offset, end - position) or self._misplaced(header)
            if self.reason is not None:
                break
            if self._verify:
                if at + size > len(self.chunk):
                    if not self._load(position, size):
                        return
                    at = 0
                if crc32c(memoryview(self.chunk)[at + CRC_START : at + size]) != header.crc:
                    self.reason = "CRC-32C does not match"
                    return
            self.position = position + size
            self.next_offset = header.base_offset + header.last_offset_delta + 1
            self.batch_count += 1
            yield position, header
        if self.reason is not None:
            if not (self._allows_preallocation and is_preallocated(self._file, self.position, end)):
                return
            self.reason = None
        if not self._has_holes and self._end_offset is not None and self.next_offset != self._end_offset:
            self.reason = f"ends at offset {self.next_offset}, not {self._end_offset}"

    def _misplaced(self, header: BatchHeader) -> str | None:
        """Why its offsets cannot be there, or None; offsets lie outside the CRC."""
        if not self._has_holes and header.base_offset != self.next_offset:
            return f"offset {header.base_offset} instead of {self.next_offset}"
        if self._offset_limit is not None and header.next_offset > self._offset_limit:
            return f"offset {header.last_offset} in a part that ends before {self._offset_limit}"
        return None

    def marker_at(self, position: int, header: BatchHeader) -> Marker | None:
        """The marker in the control batch that was just found there, as `parse_marker` reads it."""
        at = position - self.chunk_start
        if at + header.size_bytes > len(self.chunk):
            return parse_marker(self._file.pread(header.size_bytes, position), header)
        return parse_marker(memoryview(self.chunk)[at : at + header.size_bytes], header)

    def check_end(self) -> None:
        """CorruptBatch if the walk ended before the end."""
        if self.reason is not None:
            raise CorruptBatch(self.position, self.next_offset, self.reason)

    def _load(self, position: int, size: int) -> bool:
        """Make `chunk` start at `position` and hold at least `size` bytes."""
        self.chunk = self._file.pread(min(max(size, CHUNK_BYTES), self._end - position), position)
        self.chunk_start = position
        if len(self.chunk) < size:
            self.reason = f"{len(self.chunk)} bytes at the end are not a whole batch"
            return False
        return True


def bounded_end(base_offset: int, end_offset: int | None = None) -> int:
    """The offset that no batch of a segment reaches: the next segment's, or else the first that an index cannot say.

    Offsets lie outside the CRC. Where some may be missing, a wrong one shows only by being too far away.
    """
    far = base_offset + RELATIVE_OFFSET_MAX + 1
    return far if end_offset is None else min(far, end_offset)


def implausible(header: BatchHeader, min_offset: int, bytes_left: int) -> str | None:
    """Why this cannot be the next batch, or None."""
    if header.magic != 2:
        return f"magic {header.magic}"
    size = header.batch_length + LOG_OVERHEAD_BYTES
    if not HEADER_BYTES <= size <= BATCH_BYTES_MAX:
        return f"batch of {size} bytes"
    if size > bytes_left:
        return f"batch of {size} bytes with {bytes_left} left"
    if header.base_offset < min_offset:
        return f"offset {header.base_offset} after {min_offset - 1}"
    if header.last_offset_delta < 0 or header.record_count < 0:
        return f"last offset delta {header.last_offset_delta}, {header.record_count} records"
    return None


def find_batch(file: File, position: int, end: int, *, min_offset: int) -> int | None:
    """Position of the first whole batch (CRC included) with an offset >= min_offset at or after `position`."""
    while position + HEADER_BYTES <= end:
        chunk = file.pread(min(CHUNK_BYTES + HEADER_BYTES, end - position), position)
        for match in _LOOKS_LIKE_BATCH.finditer(chunk):
            at = match.start()
            if at + HEADER_BYTES > len(chunk):
                break
            header = read_header(chunk, at)
            if implausible(header, min_offset, end - position - at) is None and _crc_matches(
                file, position + at, header
            ):
                return position + at
        if len(chunk) <= HEADER_BYTES:
            return None
        position += len(chunk) - HEADER_BYTES + 1
    return None


def _crc_matches(file: File, position: int, header: BatchHeader) -> bool:
    checked = file.pread(header.size_bytes - CRC_START, position + CRC_START)
    return len(checked) == header.size_bytes - CRC_START and crc32c(checked) == header.crc
