"""The sparse time index of a segment: from where on a timestamp can occur.

An entry (t, o) says: no batch before relative offset o has a timestamp above t. A search for a time starts
at the last entry whose t is below it and reads on. Entries are made together with those of the offset index.
The file is derived, like that one, and also keeps what retention and look-ups by time ask of a whole segment.

    magic 'PSTX' | version u16 | zero u16 | base offset i64 | covered bytes of the log u64 | entries u32 |
    first timestamp i64 | max timestamp i64 | offset of its batch i64 |
    timestamps i64… | relative offsets u32… | CRC-32C u32 of all before          little-endian
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from penstock.runtime.files import Buffer
from penstock.storage.segment.offset_index import check_index_file, from_little_endian, little_endian

_HEADER = Struct("<4sHHqQIqqq")
_CRC = Struct("<I")
_MAGIC = b"PSTX"
_VERSION = 1

NO_TIMESTAMP = -1


class Times(NamedTuple):
    """The timestamps of a whole segment: of its first batch, the largest, and the base offset of its batch."""

    first: int = NO_TIMESTAMP
    largest: int = NO_TIMESTAMP
    largest_offset: int = -1


class TimeIndex:
    """Ascending timestamps with the relative offsets up to which they hold."""

    __slots__ = ("offsets", "timestamps")

    def __init__(self) -> None:
        self.timestamps = array("q")
        self.offsets = array("I")

    def __len__(self) -> int:
        return len(self.timestamps)

    def add(self, timestamp: int, relative_offset: int) -> None:
        """No batch before `relative_offset` is above `timestamp`."""
        if self.timestamps and self.timestamps[-1] >= timestamp:
            self.offsets[-1] = relative_offset  # the same bound holds further on
            return
        self.offsets.append(relative_offset)
        self.timestamps.append(timestamp)

    def floor(self, timestamp: int) -> int:
        """Relative offset below which every timestamp is smaller than the given one; -1 if none is known."""
        found = bisect_left(self.timestamps, timestamp)
        return self.offsets[found - 1] if found else -1

    def extend(self, other: TimeIndex, end: int) -> None:
        """Take over the entries that speak of nothing at or above relative offset `end`."""
        count = bisect_right(other.offsets, end, 0, len(other.timestamps))
        for timestamp, offset in zip(other.timestamps[:count], other.offsets[:count], strict=True):
            self.add(timestamp, offset)

    def encode(self, base_offset: int, covered_bytes: int, times: Times) -> bytes:
        count = len(self.timestamps)
        header = _HEADER.pack(_MAGIC, _VERSION, 0, base_offset, covered_bytes, count, *times)
        content = header + little_endian(self.timestamps) + little_endian(self.offsets)
        return content + _CRC.pack(crc32c(content))


def decode_time_index(data: Buffer, base_offset: int) -> tuple[TimeIndex, int, Times]:
    """The index, the bytes it covers, the segment's times. ValueError for anything but a whole, matching file."""
    count, covered, position = check_index_file(data, _HEADER, _MAGIC, _VERSION, base_offset, 12)
    index = TimeIndex()
    index.timestamps = from_little_endian("q", data[position : position + 8 * count])
    index.offsets = from_little_endian("I", data[position + 8 * count : position + 12 * count])
    return index, covered, Times(*_HEADER.unpack_from(data)[6:])
