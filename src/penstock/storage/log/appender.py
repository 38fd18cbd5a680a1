"""The writing half of a log on disk: append at the end, roll, and what flush rounds ask and tell.

    append        the active file is a target of the next round, bytes are written, the end rises, the log is marked
    flush round   `flush_targets` in the flush thread, `flush_completed` or `flush_failed` on the loop

Loop thread, but for `flush_targets`. Waits for the disk only where a docstring says so.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from penstock.model.batch import CONTROL_BIT, BatchHeader, read_header, stamp, stamp_log_append_time
from penstock.model.control_record import Marker, build_marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.files import File
from penstock.storage.flush.flushable import FlushQueue
from penstock.storage.interface import Appended, LogState
from penstock.storage.log.append_rules import check_batch_fits, must_roll
from penstock.storage.log.preallocation import Room
from penstock.storage.log.producer_state import Producers
from penstock.storage.log.reader import LogReader
from penstock.storage.log.undecided import Transactions
from penstock.storage.log.unflushed_files import UnflushedFiles
from penstock.storage.observer import EngineObserver
from penstock.storage.recovery.crash_leftovers import record_failed_flush
from penstock.storage.segment.segment import Segment


class LogWriter(LogReader):
    """What `DiskLog` is to those who write and flush; implements `storage.flush_queue.Flushable`.

    The fields belong to `DiskLog`.
    """

    __slots__ = (
        "_commit", "_end_mark", "_epoch", "_flushing", "_observer", "_producers", "_room", "_root", "_synced_names",
        "_transactions", "_unflushed", "flushed", "last_stable", "unsnapshotted_bytes",
    )  # fmt: skip

    _commit: FlushQueue
    _end_mark: tuple[int, int, int]
    _epoch: int
    _flushing: tuple[int, int, int]
    _observer: EngineObserver
    _producers: Producers
    _room: Room
    _root: Path
    _synced_names: bool
    _transactions: Transactions
    _unflushed: UnflushedFiles
    flushed: int
    last_stable: int
    unsnapshotted_bytes: int

    # --- append ----------------------------------------------------------------------------------------

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        if not self._commit.accepts_writes:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is nearly full")
        return self.append_trusted(batch, header, now_ms)

    def append_trusted(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        if self.state is not LogState.ONLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log is {self.state.value}")
        config = self._config
        size = len(batch)
        check_batch_fits(config, header, size, now_ms)
        is_idempotent = header.producer_id >= 0 and not header.attributes & CONTROL_BIT
        if is_idempotent:
            seen = self._producers.check(header)
            if seen is not None:
                return Appended(seen.base_offset, seen.last_offset, seen.append_time_ms, True)
        base_offset = self.log_end
        last_offset = base_offset + header.last_offset_delta
        timestamp = header.max_timestamp
        append_time_ms = -1
        if config.log_append_time:
            timestamp = append_time_ms = now_ms
            stamp_log_append_time(batch, header.attributes, now_ms)
        stamp(batch, base_offset, self._epoch)
        segment = self._segment_for_append(base_offset, last_offset, size, timestamp if timestamp >= 0 else now_ms)
        self._write(segment, batch, base_offset, last_offset, timestamp, now_ms)
        if is_idempotent:
            self._producers.note(header, base_offset, append_time_ms, now_ms)
        self._commit.mark(self, size)
        return Appended(base_offset, last_offset, append_time_ms, False)

    def _write(
        self,
        segment: Segment,
        batch: bytearray | memoryview,
        base_offset: int,
        last_offset: int,
        timestamp: int,
        now_ms: int,
    ) -> None:
        """Put a batch at the end of the active segment, and of the log."""
        size = len(batch)
        position = segment.size
        try:
            file = self._unflushed.active or self._open_active(segment)
            if self._commit.wants_room:
                self._room.make(file, position, size)
            file.pwrite((batch,), position)
        except OSError as error:
            raise self._undo_write(position, error) from error
        segment.note_batch(base_offset, last_offset + 1, size, timestamp, self._config.index_interval_bytes)
        if segment.first_timestamp < 0:
            segment.first_timestamp = now_ms  # no timestamp: segment.ms goes by the clock
        self.log_end = last_offset + 1
        self._end_mark = (last_offset + 1, segment.base_offset, position + size)
        self.unsnapshotted_bytes += size

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        self._producers.check_marker(marker)
        batch = build_marker(marker, now_ms)
        appended = self.append_trusted(batch, read_header(batch), now_ms)
        aborted = self._producers.note_marker(marker, appended.base_offset, now_ms, now_ms)
        if aborted is not None:
            self._segments[-1].note_aborted(aborted)
        return appended

    def _segment_for_append(self, base_offset: int, last_offset: int, size: int, timestamp: int) -> Segment:
        if self._segments:
            segment = self._segments[-1]
            if not must_roll(self._config, segment, size, timestamp, last_offset):
                return segment
        try:
            return self.roll(base_offset)
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"no new segment: {error}") from error

    def roll(self, base_offset: int) -> Segment:
        """Begin a new segment at the end of the log. Its name is synced by the round that flushes its first batch."""
        started = perf_counter()
        self._take_room_away()
        segment = Segment(self.directory, base_offset)
        directories = [self.directory]
        if not self._segments:
            self._files.make_directories(self.directory, sync=False)
            directories = self._path_directories()
        file = self._cache.acquire(segment.path, write=True, create=True)
        if file.size():
            self._cache.release(file)
            raise FileExistsError(f"{segment.path} is there already and is not empty")
        self._unflushed.seal(base_offset)
        self._unflushed.new_entry(self._files, directories, file, base_offset)
        self._unflushed.active = file
        self._synced_names = True
        if self._segments:
            self._segments[-1].end_offset = base_offset
        self._segments = (*self._segments, segment)
        self._observer.rolled(perf_counter() - started)
        return segment

    def _path_directories(self) -> list[Path]:
        """The log's directory and those above it, up to the root.

        All of them, whoever made them: another log's flush, which would have synced the ones it made, may have failed.
        """
        directories = [self.directory]
        for _ in range(len(self.directory.parts) - len(self._root.parts)):
            directories.append(directories[-1].parent)
        return directories

    def _open_active(self, segment: Segment) -> File:
        file = self._cache.acquire(segment.path, write=True)
        if not self._synced_names:  # a process that was killed may have created it and synced no name
            self._unflushed.new_entry(self._files, self._path_directories(), file, self.log_end)
            self._synced_names = True
        self._unflushed.active = file
        return file

    def _take_room_away(self) -> None:
        """Nobody minds if it is there again after a power cut: this is not synced for its own sake."""
        if self._room:
            active = self._segments[-1]
            file = self._cache.acquire(active.path, write=True)
            try:
                self._room.take_away(file, active.size)
            finally:
                self._cache.release(file)

    def _undo_write(self, position: int, error: OSError) -> KafkaError:
        """Part of a batch may be in the file: it must go before the next one comes."""
        try:
            if self._unflushed.active is not None:
                self._room.forget()
                self._unflushed.active.truncate(position)
        except OSError as second:
            self.state = LogState.OFFLINE
            return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{error}, then {second}: the log is offline")
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    # --- flush -----------------------------------------------------------------------------------------

    def _mark(self) -> tuple[int, int, int]:
        """The end of the log: offset, base offset of the active segment, position in it."""
        if not self._segments:
            return self.log_end, -1, -1
        return self.log_end, self._segments[-1].base_offset, self._segments[-1].size

    def flush_targets(self) -> tuple[int, list[File]]:
        mark = self._end_mark  # first: files are added before the end rises
        self._flushing = mark
        return mark[0], self._unflushed.targets()

    def flush_completed(self, end: int) -> None:
        if self.state is LogState.OFFLINE:
            return
        self.made_visible(end)
        self._unflushed.flushed(end, all_of_it=end >= self.log_end)

    def made_visible(self, end: int) -> None:
        if end <= self.flushed or self.state is LogState.OFFLINE:
            return
        for mark in (self._end_mark, self._flushing):
            if mark[0] == end:
                self._flush_mark = mark
                break
        else:
            self._flush_mark = (end, -1, -1)
        self.flushed = end
        self.last_stable = end if self._transactions.is_idle else self._stable_end()

    def _stable_end(self) -> int:
        """Whoever deleted the beginning of a transaction has not decided it."""
        return max(self._transactions.stable_end(self.flushed), self.log_start)

    def flush_failed(self, error: OSError) -> None:
        """Waits for the disk, once: the failure is recorded beside the log."""
        if self.state is LogState.OFFLINE:
            return
        self.state = LogState.OFFLINE
        record_failed_flush(self._files, self.directory, str(error))
        self._unflushed.abandon()
