"""Moving the recovery point of a log: sync its segments, then record in a snapshot that they are on disk.

Captured on the event loop, written by any thread: the bytes of the snapshot are made when it is captured, because
producers change with every append. The order of the syncs is what makes it true: segments and directories first, the
snapshot that promises them last. Index files are written on the way, without syncs: they can be rebuilt.

    capture (loop)    log end, segments, producers, epochs
    write (thread)    datasync segments, index files, sync directory, snapshot durably, older snapshots away
    done (loop)       `DiskLog.checkpoint_written`; if `write` raised before `data_is_synced`,
                      `DiskLog.flush_failed`: an error that a sync reported here is not reported again
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from penstock.runtime.files import Buffer, File, Files
from penstock.storage import layout
from penstock.storage.flush.flushable import FileCache
from penstock.storage.segment.batch_scanner import CorruptBatch
from penstock.storage.segment.segment import Segment
from penstock.storage.segment.segment_index import SMALL_BYTES
from penstock.storage.segment.time_index import Times

SNAPSHOTS_KEPT = 2


class CoveredSegment(NamedTuple):
    """A segment with what was in it at the capture; it may grow while the checkpoint is written."""

    segment: Segment
    size: int
    end_offset: int
    times: Times
    aborted_count: int = 0


class Checkpoint:
    """One recovery point on its way to the disk."""

    __slots__ = (
        "_cache",
        "_directories",
        "_directory",
        "_files",
        "_interval",
        "_snapshot",
        "covered",
        "data_is_synced",
        "log_end",
    )

    def __init__(
        self, files: Files, cache: FileCache, directories: Sequence[Path], log_end: int, snapshot: bytes, interval: int
    ) -> None:
        """`directories`: the log's, then others whose entries must be on disk with it."""
        self._files = files
        self._cache = cache
        self._directory = directories[0]
        self._directories = directories
        self._snapshot = snapshot
        self._interval = interval
        self.log_end = log_end
        self.covered: list[CoveredSegment] = []
        self.data_is_synced = False  # if `write` fails afterwards, only the recovery point is missing

    def cover(self, segments: Sequence[Segment]) -> None:
        """Cover the segments that were written to since the last recovery point. Loop thread."""
        self.covered = [cover_segment(one) for one in segments]

    def write(self, *, synced: bool = False) -> None:
        """Write a recovery point. Raises OSError if the disk does. Any thread.

        `synced`: all data is on disk and the caller will sync the file system afterwards, as at a clean stop.
        """
        for item in self.covered:
            if not synced or item.size > SMALL_BYTES or item.aborted_count > 0:
                self._write_segment(item, synced)
        if not synced:
            for directory in self._directories:
                self._files.sync_directory(directory)
        self.data_is_synced = True
        path = layout.snapshot_path(self._directory, self.log_end)
        if synced:
            self._write_new(path)
        else:
            self._files.write_durably(path, self._snapshot)
        self._remove_older()

    def _write_segment(self, item: CoveredSegment, synced: bool) -> None:
        try:
            file = self._cache.acquire(item.segment.path, write=True)
        except FileNotFoundError:
            return  # retention was faster
        try:
            if not synced:
                file.datasync()
            if item.size > SMALL_BYTES:
                try:
                    write_index_files(self._files, self._directory, item, file, self._interval)
                except (OSError, CorruptBatch):
                    pass  # no space, say; it can be rebuilt, and a read of the data will find what is wrong with it
            if item.aborted_count > 0:
                with contextlib.suppress(OSError):  # likewise
                    write_aborted_file(self._files, self._directory, item)
        finally:
            self._cache.release(file)

    def _write_new(self, path: Path) -> None:
        """Write without a sync, under its own name at once unless that is taken: thousands are written at a stop."""
        if self._files.exists(path):
            write_whole(self._files, path, self._snapshot)
            return
        file = self._files.open(path, create=True)
        try:
            file.pwrite([self._snapshot], 0)
        finally:
            file.close()

    def _remove_older(self) -> None:
        names = self._files.list_names(self._directory)
        ends = sorted(end for name in names if (end := layout.offset_of(name, layout.SNAPSHOT)) is not None)
        for end in ends:
            if end > self.log_end:  # of a log that was longer before it was repaired
                self._files.remove(layout.snapshot_path(self._directory, end))
        for end in [end for end in ends if end <= self.log_end][:-SNAPSHOTS_KEPT]:
            self._files.remove(layout.snapshot_path(self._directory, end))


def write_index_files(files: Files, directory: Path, item: CoveredSegment, file: File, interval: int) -> None:
    """Both index files of a segment, up to what `item` says was in it."""
    index = item.segment.index
    item.segment.load_index(index, files, file, interval)
    offsets, times = index.encode(item.size, item.end_offset, item.times)
    base_offset = item.segment.base_offset
    write_whole(files, layout.index_path(directory, base_offset), offsets)
    write_whole(files, layout.time_index_path(directory, base_offset), times)


def cover_segment(segment: Segment) -> CoveredSegment:
    return CoveredSegment(segment, segment.size, segment.end_offset, segment.times, segment.aborted_summary.entry_count)


def write_aborted_file(files: Files, directory: Path, item: CoveredSegment) -> None:
    """The aborted transactions of a segment, up to what `item` says was in it."""
    index, path = item.segment.aborted, layout.aborted_index_path(directory, item.segment.base_offset)
    if index is None:
        return
    if not index.is_whole and not (files.exists(path) and index.take_file(files.read_bytes(path))):
        return  # the file was lost: a search rebuilds it, which takes more than one segment
    write_whole(files, path, index.encode(item.aborted_count))


def write_missing_indexes(files: Files, directory: Path, segments: Sequence[Segment], interval: int) -> None:
    """Write the index files that a recovery could not find: it has walked over the headers anyway."""
    for segment in segments:
        if not segment.index_written and segment.size > SMALL_BYTES:
            file = files.open(segment.path, write=False)
            try:
                write_index_files(files, directory, cover_segment(segment), file, interval)
            finally:
                file.close()
        if not segment.index_written and segment.aborted is not None:
            write_aborted_file(files, directory, cover_segment(segment))


def write_whole(files: Files, path: Path, data: Buffer) -> None:
    """Replace a file without a sync: after a power cut its CRC shows whether it is complete."""
    temporary = path.with_name(path.name + layout.TEMPORARY)
    file = files.open(temporary, create=True)
    try:
        file.truncate(0)
        file.pwrite([data], 0)
    finally:
        file.close()
    files.rename(temporary, path)
