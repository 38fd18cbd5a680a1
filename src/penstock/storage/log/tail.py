"""The end of a log on disk: the active segment's file, writing to it, and rolling over to the next one.

    write   file pinned as unflushed → bytes written → segment's numbers → log end → end mark

The order matters to the flush thread, which looks without a lock: it reads the end mark first and the unflushed files
after it, so every file that holds a byte below the mark is among those it syncs. Loop thread; waits for the disk only
where a docstring says so.
"""

from __future__ import annotations

from time import perf_counter

from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.files import File
from penstock.storage.admission.append_rules import must_roll
from penstock.storage.admission.status import Status
from penstock.storage.checkpoint.marker_files import record_holes
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.segment_list import SegmentList
from penstock.storage.log.unflushed_files import UnflushedFiles
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.preallocation import Preallocation
from penstock.storage.segment.segment import Segment

EndMark = tuple[int, int, int]
"""An end of the log as one value: offset, base offset of the segment it lies in, position there (-1, -1: not known)."""


class DiskTail:
    """Implements `admission.appender.Tail`. `written_bytes` counts all that was ever written through it."""

    __slots__ = (
        "_cache", "_commit", "_files", "_has_synced_name", "_identity", "_observer", "_preallocation", "_segments",
        "_status", "_unflushed", "end_mark", "log_end", "written_bytes",
    )  # fmt: skip

    def __init__(
        self,
        context: LogContext,
        identity: LogIdentity,
        segments: SegmentList,
        log_end: int,
        unflushed: UnflushedFiles,
        status: Status,
    ) -> None:
        self._files = context.files
        self._cache = context.cache
        self._commit = context.commit
        self._observer = context.observer
        self._identity = identity
        self._segments = segments
        self._unflushed = unflushed
        self._status = status
        self._preallocation = Preallocation()
        self._has_synced_name = False  # whether the active file's name is on disk, or is a target of the next flush
        self.written_bytes = 0
        self.begin_at(log_end)

    def begin_at(self, log_end: int) -> None:
        """The log ends here: after recovery, or when all of it was forgotten."""
        self.log_end = log_end
        active = self._segments.all[-1] if self._segments.all else None
        self.end_mark: EndMark = (log_end, -1, -1) if active is None else (log_end, active.base_offset, active.size)

    def write(
        self, batch: bytearray | memoryview, base_offset: int, last_offset: int, timestamp: int, now_ms: int
    ) -> None:
        size = len(batch)
        segments = self._segments.all
        config = self._status.config
        # A new segment begins where the one before ends, whatever is missing before the batch.
        if not segments or must_roll(config, segments[-1], size, timestamp if timestamp >= 0 else now_ms, last_offset):
            segment = self._roll_for_append()
        else:
            segment = segments[-1]
        if base_offset != self.log_end:
            self._allow_holes(segment)
        position = segment.size
        try:
            file = self._unflushed.active or self._open_active(segment)
            if position + size > self._preallocation.end and self._commit.wants_preallocation:
                self._preallocation.extend(file, position, size, self._commit.sync_bytes)
            file.pwrite((batch,), position)
        except OSError as error:
            raise self._undo_write(position, error) from error
        next_offset = last_offset + 1
        segment.note_batch(base_offset, next_offset, size, timestamp, config.index_interval_bytes)
        if segment.first_timestamp < 0:
            segment.first_timestamp = now_ms  # no timestamp: segment.ms goes by the clock
        self.log_end = next_offset
        # Last, and as one value: the flush thread takes it for the end of what the pinned files hold.
        self.end_mark = (next_offset, segment.base_offset, position + size)
        self.written_bytes += size

    def note_aborted(self, entry: AbortedEntry) -> None:
        self._segments.all[-1].note_aborted(entry)

    def roll(self) -> Segment:
        """Begin a new segment at the end of the log. Its name is synced by the round that flushes its first batch.

        OSError if that cannot be; the log goes on with the segment it has.
        """
        started = perf_counter()
        self.cut_preallocation()
        identity = self._identity
        segment = Segment(identity.directory, self.log_end)
        directories = [identity.directory]
        if not self._segments.all:
            self._files.make_directories(identity.directory, sync=False)
            directories = identity.path_directories()
        file = self._cache.acquire(segment.path, write=True, create=True)
        if file.size():
            self._cache.release(file)
            raise FileExistsError(f"{segment.path} is there already and is not empty")
        self._unflushed.seal(self.log_end)
        self._unflushed.new_entry(self._files, directories, file, self.log_end)
        self._unflushed.active = file
        self._has_synced_name = True
        self._segments.add(segment)
        self._observer.rolled(perf_counter() - started)
        return segment

    def cut_preallocation(self) -> None:
        """End the active file after its last batch. Not synced: zeros that come back with a power cut harm nothing."""
        if self._preallocation:
            active = self._segments.all[-1]
            file = self._cache.acquire(active.path, write=True)
            try:
                self._preallocation.cut(file, active.size)
            finally:
                self._cache.release(file)

    def restart_at(self, offset: int) -> None:
        """All segments and their files are gone: the next batch comes at `offset` or above."""
        self._preallocation.forget()
        self.begin_at(offset)

    def _roll_for_append(self) -> Segment:
        try:
            return self.roll()
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"no new segment: {error}") from error

    def _open_active(self, segment: Segment) -> File:
        file = self._cache.acquire(segment.path, write=True)
        if not self._has_synced_name:  # a process that was killed may have created the file and synced no name
            self._unflushed.new_entry(self._files, self._identity.path_directories(), file, self.log_end)
            self._has_synced_name = True
        self._unflushed.active = file
        return file

    def _allow_holes(self, segment: Segment) -> None:
        """A mirror of a compacted log: offsets are missing before the next batch. Waits for the disk, once a log."""
        try:
            record_holes(self._files, self._identity.directory)
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
        segment.has_holes = True

    def _undo_write(self, position: int, error: OSError) -> KafkaError:
        """Part of a batch may be in the file: it must go before the next one comes."""
        try:
            if self._unflushed.active is not None:
                self._preallocation.forget()
                self._unflushed.active.truncate(position)
        except OSError as second:
            self._status.take_offline()
            return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{error}, then {second}: the log is offline")
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
