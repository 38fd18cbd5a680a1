"""Rewriting sealed segment files so that only the last record of each key is left. Runs in the worker process.

    1  walk over the dirty part, remember for every key its last offset, until the map is full (`compaction.key_map`)
    2  copy the segments from the first on, group by group, without the records that have a later one
       (`compaction.clean_batch`)

Kafka's rules: base offsets and last offsets of batches stay, so do producer fields and leader epochs; a batch that
loses all its records goes, unless it is the last of its producer (idempotence needs it), then it stays as an empty
batch; a batch with a tombstone gets a delete horizon when it is first cleaned (KIP-534: attribute bit 6, the base
timestamp is the horizon), after which its tombstones may go; records are compressed again with the codec they came
with.

Transactions: everything here has been decided. Batches of aborted ones lose their records, and their keys replace
nothing. A marker stays while a batch of its transaction does; then it gets a delete horizon, after which it goes.

A batch that cannot be decoded is kept as it is, and reported. A wrong CRC ends the run: that is damage, and nothing
may be derived from it. The output is `<base>.cleaned`, synced; putting it in place is `compaction.swap`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from penstock.model.batch import BatchHeader
from penstock.runtime.files import Files
from penstock.storage import layout
from penstock.storage.compaction.clean_batch import BatchCleaner
from penstock.storage.compaction.key_map import KEY_COUNT_MAX, KeyMap
from penstock.storage.compaction.report import CleanedGroup, CompactionReport
from penstock.storage.segment.aborted_index import AbortedEntry, AbortedIndex, AbortedRanges
from penstock.storage.segment.batch_scanner import BatchScanner, ExpectedOffsets
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.time_index import NO_TIMESTAMP, Times

_BUFFER_BYTES = 1 << 20
_OFFSET_RANGE_MAX = (1 << 31) - 1  # offsets in index files are relative, 32 bits


class CompactionRequest(NamedTuple):
    """All that a run needs to know. `segments` are sealed neighbours from the first of the log on."""

    directory: Path
    segments: Sequence[SegmentEntry]
    first_dirty: int
    segment_bytes: int
    delete_retention_ms: int
    now_ms: int
    producer_last_offsets: Mapping[int, int]
    key_count_max: int = KEY_COUNT_MAX
    without_holes: Collection[int] = ()  # base offsets of segments in which no offset may be missing
    aborted: Sequence[AbortedEntry] = ()  # every transaction that was aborted and began in these segments


class DamagedSegment(Exception):
    """Bytes that are not what was written: nothing may be derived from them."""

    def __init__(self, base_offset: int, position: int, offset: int, reason: str) -> None:
        super().__init__(base_offset, position, offset, reason)
        self.base_offset = base_offset
        self.position = position
        self.offset = offset
        self.reason = reason


def compact(files: Files, request: CompactionRequest) -> CompactionReport:
    started = time.perf_counter()
    aborted = AbortedRanges(request.aborted)
    keys = _map_keys(files, request, aborted)
    cleaner = BatchCleaner(
        keys.latest,
        keys.clean_end,
        request.producer_last_offsets,
        request.now_ms,
        request.delete_retention_ms,
        aborted,
    )
    covered = [entry for entry in request.segments if entry.base_offset < keys.clean_end]
    try:
        groups = list(_clean_segments(files, request, covered, cleaner))
    except BaseException:
        remove_outputs(files, [layout.cleaned_path(request.directory, entry.base_offset) for entry in covered])
        raise
    replaced = {base for group in groups for base in group.base_offsets}
    return CompactionReport(
        groups,
        keys.clean_end,
        sum(entry.size for entry in covered),
        sum(entry.size for entry in covered if entry.base_offset not in replaced)
        + sum(group.entry.size for group in groups),
        cleaner.keyless_count,
        cleaner.undecodable,
        time.perf_counter() - started,
    )


def remove_outputs(files: Files, paths: Iterable[Path]) -> None:
    """Remove what a failed run has written; a full disk needs the space. Any thread."""
    for path in paths:
        with contextlib.suppress(OSError):
            files.remove(path)


def _map_keys(files: Files, request: CompactionRequest, aborted: AbortedRanges) -> KeyMap:
    keys = KeyMap(request.first_dirty, request.key_count_max, aborted)
    for entry in request.segments:
        if entry.end_offset <= request.first_dirty:
            continue
        for header, batch in _batches(files, request, entry):
            if not keys.add(header, batch):
                return keys
        keys.end_segment(entry.end_offset)
    return keys


def _clean_segments(
    files: Files, request: CompactionRequest, segments: Sequence[SegmentEntry], cleaner: BatchCleaner
) -> Iterator[CleanedGroup]:
    """Copy segment after segment; neighbours go into one output as long as what is left of them fits."""
    group: _Group | None = None
    for entry in segments:
        if group is not None and not group.has_room(entry, request.segment_bytes):
            yield from group.finish()
            group = None
        if group is None:
            group = _Group(files, request, entry.base_offset)
        group.add(entry, cleaner)
    if group is not None:
        yield from group.finish()


class _Group:
    """Segments on their way into one output."""

    def __init__(self, files: Files, request: CompactionRequest, base_offset: int) -> None:
        self._files = files
        self._request = request
        self._path = layout.cleaned_path(request.directory, base_offset)
        self._output = _Output(files, self._path)
        self._entries: list[SegmentEntry] = []
        self._aborted: list[AbortedEntry] = []
        self._changed = False

    def has_room(self, entry: SegmentEntry, segment_bytes: int) -> bool:
        """Whether another segment fits even if nothing of it goes."""
        long = entry.end_offset - self._entries[0].base_offset > _OFFSET_RANGE_MAX
        return not long and self._output.size + entry.size <= segment_bytes

    def add(self, entry: SegmentEntry, cleaner: BatchCleaner) -> None:
        self._changed = self._changed or bool(self._entries)
        self._entries.append(entry)
        try:
            for header, batch in _batches(self._files, self._request, entry):
                kept = cleaner.clean(header, batch)
                self._changed = self._changed or kept is not batch
                if kept is not None:
                    self._output.add(header.base_offset, kept)
            self._output.drain()
        except BaseException:
            self._output.close()
            raise
        self._aborted += cleaner.aborted_left
        cleaner.aborted_left = []

    def finish(self) -> Iterator[CleanedGroup]:
        """One output, or none if it would be the only input over again."""
        try:
            if self._changed:
                self._output.sync()
        finally:
            self._output.close()
        if not self._changed:
            self._files.remove(self._path)
            return
        first, last = self._entries[0], self._entries[-1]
        index = AbortedIndex()
        for one in self._aborted:
            index.add(one)
        entry = SegmentEntry(first.base_offset, last.end_offset, self._output.size, self._output.times, index.summary)
        yield CleanedGroup([entry.base_offset for entry in self._entries], self._path, entry, self._aborted)


def _batches(files: Files, request: CompactionRequest, entry: SegmentEntry) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The batches of a sealed segment, each checked."""
    file = files.open(layout.log_path(request.directory, entry.base_offset), write=False)
    try:
        has_holes = entry.base_offset not in request.without_holes
        offsets = ExpectedOffsets(entry.base_offset, has_holes, end=entry.end_offset)
        scanner = BatchScanner(file, 0, entry.size, offsets, verify=True)
        for position, header in scanner:
            at = position - scanner.chunk_start
            yield header, memoryview(scanner.chunk)[at : at + header.size_bytes]
        if scanner.reason is not None:
            raise DamagedSegment(entry.base_offset, scanner.position, scanner.next_offset, scanner.reason)
    finally:
        file.close()


class _Output:
    """A segment being written, with the numbers that describe it."""

    def __init__(self, files: Files, path: Path) -> None:
        self._file = files.open(path, create=True)
        self._file.truncate(0)
        self._buffer = bytearray()
        self._first_timestamp = NO_TIMESTAMP
        self._largest_timestamp = NO_TIMESTAMP
        self._largest_offset = -1
        self.size = 0

    @property
    def times(self) -> Times:
        return Times(self._first_timestamp, self._largest_timestamp, self._largest_offset)

    def add(self, base_offset: int, batch: memoryview | bytearray) -> None:
        timestamp = max_timestamp(batch)
        if timestamp > self._largest_timestamp:
            self._largest_timestamp, self._largest_offset = timestamp, base_offset
        if self._first_timestamp < 0:
            self._first_timestamp = timestamp
        self._buffer += batch
        if len(self._buffer) >= _BUFFER_BYTES:
            self.drain()

    def sync(self) -> None:
        self.drain()
        self._file.datasync()

    def close(self) -> None:
        self._file.close()

    def drain(self) -> None:
        if self._buffer:
            self.size += self._file.pwrite([self._buffer], self.size)
            self._buffer = bytearray()


def max_timestamp(batch: memoryview | bytearray) -> int:
    return int.from_bytes(batch[35:43], "big", signed=True)
