"""The sparse offset index of a segment: which batch lies where, one entry per `index.interval.bytes`.

In memory two arrays of 32-bit numbers, offsets relative to the segment's base. On disk it is derived:
written at checkpoints and when a segment is sealed, rebuilt when it is missing or does not check out. Its
length is never its capacity: the count and a CRC say what is in it.

    magic 'PSIX' | version u16 | zero u16 | base offset i64 | covered bytes of the log u64 | entries u32 |
    relative offsets u32… | positions u32… | CRC-32C u32 of all before          little-endian

Readers may be threads, the only writer is the event loop: positions are appended before offsets, so that an
entry which is found is whole.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from struct import Struct

from crc32c import crc32c

from penstock.runtime.files import Buffer

_HEADER = Struct("<4sHHqQI")
_CRC = Struct("<I")
_MAGIC = b"PSIX"
_VERSION = 1

RELATIVE_OFFSET_MAX = (1 << 31) - 1


class OffsetIndex:
    """Ascending pairs of relative offset and position."""

    __slots__ = ("offsets", "positions")

    def __init__(self) -> None:
        self.offsets = array("I")
        self.positions = array("I")

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, relative_offset: int, position: int) -> None:
        """The batch at `position` starts with `relative_offset`; both larger than any before."""
        self.positions.append(position)
        self.offsets.append(relative_offset)

    def floor(self, relative_offset: int) -> int:
        """Position of the last indexed batch at or below the offset; -1 if all are above it."""
        found = bisect_right(self.offsets, relative_offset)
        return self.positions[found - 1] if found else -1

    def floor_position(self, position: int) -> int:
        """Position of the last indexed batch at or below the given position; -1 if all are above it."""
        found = bisect_right(self.positions, position)
        return self.positions[found - 1] if found else -1

    def offset_at(self, position: int) -> int | None:
        """Relative offset of the batch at exactly this position, if it is indexed."""
        found = bisect_left(self.positions, position, 0, len(self.offsets))
        is_there = found < len(self.offsets) and self.positions[found] == position
        return self.offsets[found] if is_there else None

    def extend(self, other: OffsetIndex, end: int) -> None:
        """Take over the entries of the batches below position `end`."""
        count = bisect_left(other.positions, end, 0, len(other.offsets))
        self.offsets += other.offsets[:count]
        self.positions += other.positions[:count]

    def encode(self, base_offset: int, covered_bytes: int) -> bytes:
        count = len(self.offsets)
        header = _HEADER.pack(_MAGIC, _VERSION, 0, base_offset, covered_bytes, count)
        content = header + little_endian(self.offsets) + little_endian(self.positions)
        return content + _CRC.pack(crc32c(content))


def decode_offset_index(data: Buffer, base_offset: int) -> tuple[OffsetIndex, int]:
    """The index and how many bytes of the log it covers. ValueError for anything but a whole, matching file."""
    count, covered, position = check_index_file(data, _HEADER, _MAGIC, _VERSION, base_offset, 8)
    index = OffsetIndex()
    index.offsets = from_little_endian("I", data[position : position + 4 * count])
    index.positions = from_little_endian("I", data[position + 4 * count : position + 8 * count])
    return index, covered


def check_index_file(
    data: Buffer, header: Struct, magic: bytes, version: int, base_offset: int, entry_bytes: int
) -> tuple[int, int, int]:
    """Entries, covered bytes and where entries begin, once magic, version, base, length and CRC are right."""
    if len(data) < header.size + _CRC.size:
        raise ValueError("shorter than its header")
    fields = header.unpack_from(data)
    found_magic, found_version, _, found_base, covered, count = fields[:6]
    if (found_magic, found_version, found_base) != (magic, version, base_offset):
        raise ValueError("not the index of this segment")
    end = header.size + entry_bytes * count
    if len(data) != end + _CRC.size:
        raise ValueError(f"{len(data)} bytes for {count} entries")
    if _CRC.unpack_from(data, end)[0] != crc32c(memoryview(data)[:end]):
        raise ValueError("wrong CRC")
    return count, covered, header.size


def little_endian(numbers: array[int]) -> bytes:
    if sys.byteorder == "little":
        return numbers.tobytes()
    swapped = numbers[:]
    swapped.byteswap()
    return swapped.tobytes()


def from_little_endian(typecode: str, data: Buffer) -> array[int]:
    numbers: array[int] = array(typecode)
    numbers.frombytes(data)
    if sys.byteorder != "little":
        numbers.byteswap()
    return numbers
