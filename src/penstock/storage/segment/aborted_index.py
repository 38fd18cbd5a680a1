"""The aborted transactions of a segment: those whose marker lies in it, in the order of the markers.

The file, `<base>.txnindex`, is Kafka's: 34 bytes for each, big-endian.

    version i16 0 | producer id i64 | first offset i64 | offset of the marker i64 | last stable offset i64

The last stable offset is the one after the marker: every transaction that is aborted later begins at or above it, so
that a search may end there. Most segments have no such transaction, and no file. It is derived, like the other indexes;
how many entries there are and their CRC are in the snapshot, so that a file which is missing, cut or wrong is noticed
and rebuilt by a walk over the batches.

In memory there is a lower part, loaded on demand, and a live part that grows with the markers of this process, both
arrays of four numbers an entry. The event loop is the only writer; readers may be threads.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from operator import itemgetter
from struct import Struct, error
from typing import NamedTuple

from crc32c import crc32c

from penstock.model.batch import BatchHeader
from penstock.runtime.files import Buffer

_ENTRY = Struct(">hqqqq")
_VERSION = 0
_FIELDS = 4
_FOREVER = (1 << 63) - 1
UNKNOWN_COUNT = -1
UNKNOWN_STABLE = -1


class AbortedEntry(NamedTuple):
    """One aborted transaction."""

    producer_id: int
    first_offset: int
    last_offset: int  # of the marker
    last_stable: int  # -1: not known any more, a search may not end here


class AbortedSummary(NamedTuple):
    """A summary of a segment's aborted transactions, as a snapshot stores it."""

    entry_count: int = 0  # -1: not known, the batches have to be walked over
    crc: int = 0  # CRC-32C of the file
    lowest: int = _FOREVER  # the smallest first offset


NONE_ABORTED = AbortedSummary()
UNKNOWN_ABORTED = AbortedSummary(UNKNOWN_COUNT, 0, -1)


class AbortedIndex:
    """The entries of one segment."""

    __slots__ = ("_live", "_lower", "_lower_summary", "summary", "used")

    def __init__(self, summary: AbortedSummary = NONE_ABORTED) -> None:
        """`summary` describes what is on disk already."""
        self.summary = summary
        self.used = False
        self._lower_summary = summary
        self._lower: array[int] | None = None if summary.entry_count else array("q")
        self._live: array[int] = array("q")

    @property
    def is_whole(self) -> bool:
        """Whether looking something up needs no disk."""
        return self._lower is not None

    def add(self, entry: AbortedEntry) -> None:
        """Add an entry, whose marker is above all others."""
        count, crc, lowest = self.summary
        self._live += array("q", entry)
        if count >= 0:
            count, crc = count + 1, crc32c(_ENTRY.pack(_VERSION, *entry), crc)
        self.summary = AbortedSummary(count, crc, min(lowest, entry.first_offset))

    def take_file(self, data: Buffer) -> bool:
        """Take the lower part from its file; False if that is not what was written. Any thread."""
        count, crc, _ = self._lower_summary
        size = count * _ENTRY.size
        if count < 0 or len(data) < size or crc32c(memoryview(data)[:size]) != crc:
            return False
        self._lower = _flat(AbortedEntry(*fields[1:]) for fields in _ENTRY.iter_unpack(memoryview(data)[:size]))
        return True

    def take(self, entries: Iterable[AbortedEntry]) -> None:
        """Take the lower part from a walk over the batches. Two threads that do it at once do the same. Any thread."""
        live_from = self._live[2] if self._live else _FOREVER
        self._lower = _flat(entry for entry in entries if entry.last_offset < live_from)

    def encode(self, count: int) -> bytes:
        """Encode the file with the first `count` entries of an index that is whole. Any thread."""
        entries = (entry for part in self._parts() for entry in _entries(part, 0))
        return b"".join(_ENTRY.pack(_VERSION, *entry) for entry, _ in zip(entries, range(count), strict=False))

    def since(self, offset: int) -> Iterator[AbortedEntry]:
        """Entries whose marker is at or above `offset`, of an index that is whole. Any thread."""
        self.used = True
        for part in self._parts():
            yield from _entries(part, _first_since(part, offset))

    def _parts(self) -> tuple[array[int], array[int]]:
        assert self._lower is not None
        return self._lower, self._live


def _flat(entries: Iterable[AbortedEntry]) -> array[int]:
    return array("q", [number for entry in entries for number in entry])


def _first_since(numbers: array[int], offset: int) -> int:
    """Index of the first entry whose marker is at or above `offset`."""
    return bisect_left(range(len(numbers) // _FIELDS), offset, key=lambda index: numbers[_FIELDS * index + 2])


def _entries(numbers: array[int], index: int) -> Iterator[AbortedEntry]:
    for at in range(_FIELDS * index, len(numbers) - len(numbers) % _FIELDS, _FIELDS):
        yield AbortedEntry(*numbers[at : at + _FIELDS])


def decode_aborted_index(data: Buffer) -> list[AbortedEntry]:
    """The entries of a file, for people. ValueError if it has a wrong length or an unknown version."""
    try:
        rows = list(_ENTRY.iter_unpack(data))
    except error:
        raise ValueError(f"{len(data)} bytes are not whole entries") from None
    if any(version != _VERSION for version, *_ in rows):
        raise ValueError("an unknown version")
    return [AbortedEntry(*fields) for _, *fields in rows]


class AbortedRanges:
    """Tells the batches of aborted transactions from others, for compaction."""

    def __init__(self, entries: Iterable[AbortedEntry] = ()) -> None:
        self._by_producer: dict[int, list[AbortedEntry]] = {}
        self._by_marker: dict[int, AbortedEntry] = {}
        for entry in sorted(entries, key=itemgetter(1)):
            self._by_producer.setdefault(entry.producer_id, []).append(entry)
            self._by_marker[entry.last_offset] = entry

    def covers(self, header: BatchHeader) -> bool:
        """Whether these records were aborted."""
        entries = self._by_producer.get(header.producer_id)
        if entries is None or not header.is_transactional:
            return False
        at = bisect_right(entries, header.base_offset, key=itemgetter(1)) - 1
        return at >= 0 and header.base_offset < entries[at].last_offset

    def ended_by(self, marker_offset: int) -> AbortedEntry | None:
        return self._by_marker.get(marker_offset)
