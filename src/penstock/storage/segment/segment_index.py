"""Where the batches of a segment lie: a live part that grows with appends, a lower part from disk.

    position   0 ............ live_from ................. size
                  lower           live
                  (file or scan,  (made by this process,
                  on demand)      always in memory)

The lower part is loaded when a read needs it, from the index files or, if they are missing or bad, by walking
over the headers. It never changes once loaded, so a thread may load it while the event loop appends.
An index that is dropped costs nothing but loading it again.
"""

from __future__ import annotations

from pathlib import Path

from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.segment.batch_scanner import BatchScanner, ExpectedOffsets
from penstock.storage.segment.offset_index import OffsetIndex, decode_offset_index
from penstock.storage.segment.time_index import TimeIndex, Times, decode_time_index

# Below this many bytes walking over the headers is as good as an index.
SMALL_BYTES = 16 * 1024


class IndexPart:
    """An offset index and a time index over the same batches."""

    __slots__ = ("offsets", "times")

    def __init__(self) -> None:
        self.offsets = OffsetIndex()
        self.times = TimeIndex()

    def add(self, relative_offset: int, position: int, largest_before: int) -> None:
        """An entry for the batch at `position`; no timestamp before it is above `largest_before`."""
        self.offsets.add(relative_offset, position)
        self.times.add(largest_before, relative_offset)


class SegmentIndex:
    """Both parts of one segment's index. `live` is the event loop's, `lower` that of the thread that loads it first."""

    __slots__ = ("base_offset", "live", "live_from", "live_offset", "lower", "used")

    def __init__(self, base_offset: int, live_from: int, live_offset: int) -> None:
        """`live_offset` is the offset at position `live_from`."""
        self.base_offset = base_offset
        self.live_from = live_from
        self.live_offset = live_offset
        self.lower: IndexPart | None = None if live_from > SMALL_BYTES else _EMPTY
        self.live: IndexPart | None = None
        self.used = False

    @property
    def is_whole(self) -> bool:
        """Whether looking something up needs no disk."""
        return self.lower is not None

    def live_part(self) -> IndexPart:
        if self.live is None:
            self.live = IndexPart()
        return self.live

    def floor(self, offset: int) -> int:
        """Position of a batch at or before the one with `offset`, as near as the index knows."""
        relative_offset = offset - self.base_offset
        if self.live is not None:
            position = self.live.offsets.floor(relative_offset)
            if position >= 0:
                return position
        assert self.lower is not None
        self.used = True
        return max(0, self.lower.offsets.floor(relative_offset))

    def floor_position(self, position: int) -> int:
        """The last known batch boundary at or below `position`; 0 if there is none."""
        if self.live is not None:
            found = self.live.offsets.floor_position(position)
            if found >= 0:
                return found
        return 0 if self.lower is None else max(0, self.lower.offsets.floor_position(position))

    def offset_at(self, position: int) -> int | None:
        """The offset of the batch at `position`, if that is an entry."""
        for part in (self.live, self.lower):
            found = None if part is None else part.offsets.offset_at(position)
            if found is not None:
                return self.base_offset + found
        return None

    def floor_time(self, timestamp: int) -> int:
        """An offset below which every timestamp is smaller than the given one."""
        if self.live is not None:
            found = self.live.times.floor(timestamp)
            if found >= 0:
                return self.base_offset + found
        assert self.lower is not None
        self.used = True
        return self.base_offset + max(0, self.lower.times.floor(timestamp))

    def load(self, files: Files, directory: Path, file: File, interval: int, *, has_holes: bool) -> None:
        """Make the lower part known. Any thread; two that do it at once do the same."""
        if self.lower is None:
            self.lower = read_index_files(files, directory, self.base_offset, self.live_from) or scan_index(
                file, self.base_offset, self.live_from, self.live_offset, interval, has_holes=has_holes
            )

    def encode(self, covered_bytes: int, covered_offset: int, times: Times) -> tuple[bytes, bytes]:
        """Both files, for the part of the log up to `covered_bytes`, where `covered_offset` begins."""
        assert self.lower is not None
        offsets, index_times = OffsetIndex(), TimeIndex()
        limit = covered_offset - self.base_offset
        for part in (self.lower, self.live):
            if part is not None:
                offsets.extend(part.offsets, covered_bytes)
                index_times.extend(part.times, limit)
        return offsets.encode(self.base_offset, covered_bytes), index_times.encode(
            self.base_offset, covered_bytes, times
        )


_EMPTY = IndexPart()


def read_index_files(files: Files, directory: Path, base_offset: int, covered_bytes: int) -> IndexPart | None:
    """The index as written, if both files are there, whole, and cover exactly these bytes."""
    part = IndexPart()
    try:
        data = files.read_bytes(layout.index_path(directory, base_offset))
        part.offsets, offsets_covered = decode_offset_index(data, base_offset)
        data = files.read_bytes(layout.time_index_path(directory, base_offset))
        part.times, times_covered, _ = decode_time_index(data, base_offset)
    except (OSError, ValueError):
        return None
    return part if offsets_covered == times_covered == covered_bytes else None


def scan_index(file: File, base_offset: int, end: int, end_offset: int, interval: int, *, has_holes: bool) -> IndexPart:
    """The index of the bytes below `end`, where `end_offset` is reached. CorruptBatch where they make no sense."""
    part = IndexPart()
    largest = -1
    indexed_to = 0
    scanner = BatchScanner(file, 0, end, ExpectedOffsets(base_offset, has_holes, end=end_offset), verify=True)
    for position, header in scanner:
        if position - indexed_to > interval:
            part.add(header.base_offset - base_offset, position, largest)
            indexed_to = position
        if header.max_timestamp > largest:
            largest = header.max_timestamp
    scanner.check_end()
    return part
