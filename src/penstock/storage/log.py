"""One partition's records on disk: append at the end, read anywhere, roll, flush, checkpoint, forget the front.

    log_start ≤ … sealed segments … ≤ active segment: … flushed … log_end
                                                       visible    written, not yet synced

The event loop is the only one to change a log. Reads, look-ups by time and the flush thread take what they
need once, from attributes that are replaced and never changed in place. No file exists before the first
record.

Owned by `storage.manager`; waits for the disk only where a docstring says so. What was on disk before is the
business of `storage.recovery`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from penstock.model.batch import BatchHeader, stamp, stamp_log_append_time
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.append_rules import check_batch_fits, must_roll
from penstock.storage.checkpoint import Checkpoint
from penstock.storage.flush_queue import FileCache, FlushQueue, LogJournal
from penstock.storage.interface import Appended, LogConfig, LogState, ProducerView
from penstock.storage.leftovers import record_failed_flush
from penstock.storage.log_reader import LogReader, OnDamage
from penstock.storage.observer import EngineObserver, SilentObserver
from penstock.storage.recovery import RecoveredLog, recover
from penstock.storage.room import Room
from penstock.storage.segment import Segment
from penstock.storage.snapshot import SegmentEntry, encode_snapshot
from penstock.storage.swap import SegmentSwap
from penstock.storage.unflushed import UnflushedFiles

_SILENT = SilentObserver()


class DiskLog(LogReader):
    """Implements `storage.interface.Log` and `storage.flush_queue.Flushable`."""

    __slots__ = (
        "_checkpoint_running", "_commit", "_end_mark", "_epoch", "_epochs", "_flushing", "_journal", "_observer",
        "_producers", "_room", "_root", "_synced_names", "_unflushed", "flushed", "partition", "snapshot_end", "topic",
        "unsnapshotted_bytes",
    )  # fmt: skip

    def __init__(
        self,
        *,
        files: Files,
        directory: Path,
        topic: str,
        partition: PartitionId,
        config: LogConfig,
        leader_epoch: int,
        journal: LogJournal,
        commit: FlushQueue,
        file_cache: FileCache,
        verify_on_read: str = "first",
        log_start: int = 0,
        epochs: Sequence[tuple[int, int]] = (),
        now_ms: int = 0,
        recovered: RecoveredLog | None = None,
        on_damage: OnDamage | None = None,
        root: Path | None = None,
        observer: EngineObserver | None = None,
    ) -> None:
        """Waits for the disk: recovers the directory unless the caller did (`recovered`).

        `root` is an ancestor of `directory` that is surely there; what lies between is made with the first file.
        """
        self._files = files
        self._journal = journal
        self._commit = commit
        self._cache = file_cache
        self._config = config
        self._verify = verify_on_read
        self.on_damage = on_damage
        self._observer = observer or _SILENT
        self._root = root or directory.parent
        self._unflushed = UnflushedFiles(file_cache)
        self._room = Room()
        self._checkpoint_running = False
        self._synced_names = False  # whether the active file's name is known to be on disk
        self.directory = directory
        self.topic = topic
        self.partition = partition
        if recovered is None:
            recovered = recover(
                files, directory, log_start=log_start, now_ms=now_ms, epochs=epochs,
                compacted=config.cleanup_compact, index_interval_bytes=config.index_interval_bytes,
            )  # fmt: skip
        self._take_over(recovered, log_start)
        self._epoch = leader_epoch
        self.begin_epoch(leader_epoch)

    def _take_over(self, recovered: RecoveredLog, log_start: int) -> None:
        self._segments: tuple[Segment, ...] = tuple(recovered.segments)
        self._producers = recovered.producers
        self._epochs = recovered.epochs
        self.log_start = log_start
        self.log_end = self.flushed = recovered.log_end
        self.readable_end = 1 << 63
        self.state = LogState.ONLINE
        if recovered.damage is not None:
            self.state = LogState.DAMAGED
            self.readable_end = recovered.damage.readable_end
        self.snapshot_end = recovered.snapshot_end
        self.unsnapshotted_bytes = recovered.scanned_bytes
        self._end_mark = self._mark()
        self._flush_mark = self._flushing = self._end_mark

    # --- what it is ------------------------------------------------------------------------------------

    @property
    def config(self) -> LogConfig:
        return self._config

    def set_config(self, config: LogConfig) -> None:
        self._config = config

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def segment_count(self) -> int:
        return len(self._segments)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Oldest first; the last is the active one. For retention, compaction and scrubbing."""
        return self._segments

    @property
    def files(self) -> Files:
        return self._files

    def producers(self) -> Sequence[ProducerView]:
        return self._producers.views()

    def producer_last_offsets(self) -> dict[int, int]:
        return self._producers.last_offsets()

    def expire_producers(self, now_ms: int) -> int:
        return self._producers.expire(now_ms)

    def drop_unused_indexes(self) -> None:
        """Let go of the indexes of sealed segments that nobody used since the last call."""
        for segment in self._segments[:-1]:
            if not segment.index_written:
                continue
            if segment.index.used:
                segment.index.used = False
            elif segment.index.live is not None or segment.index.lower is not None:
                segment.drop_index()

    # --- epochs ----------------------------------------------------------------------------------------

    def begin_epoch(self, leader_epoch: int) -> None:
        self._epoch = leader_epoch
        if self.state is LogState.ONLINE:
            self._epochs.begin(leader_epoch, self.log_end)

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        return self._epochs.end_of(leader_epoch, self.flushed)

    def epoch_at(self, offset: int) -> int:
        return self._epochs.at(offset)

    def epoch_entries(self) -> Sequence[tuple[int, int]]:
        return self._epochs.entries

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
        is_idempotent = header.producer_id >= 0
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
        position = segment.size
        try:
            file = self._unflushed.active or self._open_active(segment)
            if self._commit.wants_room:
                self._room.make(file, position, size)
            file.pwrite((batch,), position)
        except OSError as error:
            raise self._undo_write(position, error) from error
        segment.note_batch(base_offset, last_offset + 1, size, timestamp, config.index_interval_bytes)
        if segment.first_timestamp < 0:
            segment.first_timestamp = now_ms  # no timestamp: segment.ms goes by the clock
        self.log_end = last_offset + 1
        self._end_mark = (last_offset + 1, segment.base_offset, position + size)
        self.unsnapshotted_bytes += size
        if is_idempotent:
            self._producers.note(header, base_offset, append_time_ms, now_ms)
        self._commit.mark(self, size)
        return Appended(base_offset, last_offset, append_time_ms, False)

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

    def flush_failed(self, error: OSError) -> None:
        """Waits for the disk, once: the failure is recorded beside the log."""
        if self.state is LogState.OFFLINE:
            return
        self.state = LogState.OFFLINE
        record_failed_flush(self._files, self.directory, str(error))
        self._unflushed.abandon()

    # --- the front of the log --------------------------------------------------------------------------

    def save_log_start(self, before: int) -> None:
        self._journal.set_log_start(self.partition, before)

    def delete_records(self, before: int, *, saved: bool = False) -> None:
        if self.state is LogState.OFFLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log is offline")
        if before > self.flushed:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {before} is above the visible end, {self.flushed}")
        if before > self.log_start:
            if not saved:
                self.save_log_start(before)
            self.log_start = before
            self._epochs.cut_front(before)

    def save_front(self, log_start: int) -> None:
        """Any thread. Durably what segments that are about to go cannot give back."""
        self._journal.set_log_start(self.partition, log_start)
        self._journal.replace_epochs(self.partition, self._epochs.entries)

    def drop_front(self, count: int, log_start: int) -> list[Path]:
        """Forget the oldest segments, after `save_front`; returns the files to remove."""
        dropped, self._segments = self._segments[:count], self._segments[count:]
        self.log_start = max(self.log_start, log_start)
        self._epochs.cut_front(self.log_start)
        paths: list[Path] = []
        for segment in dropped:
            self._cache.forget(segment.path)
            paths += (
                segment.path,
                layout.index_path(self.directory, segment.base_offset),
                layout.time_index_path(self.directory, segment.base_offset),
            )
        return paths

    def begin_swap(self, replaced: Sequence[Segment], cleaned: Path, kept: SegmentEntry) -> SegmentSwap:
        """Put compaction's output, synced as `cleaned`, in the place of sealed neighbours.

        Whoever gets the swap writes it, calls `finish_swap` and lets go; no recovery point may be written meanwhile.
        """
        last = replaced[-1]
        assert last is not self._segments[-1]
        assert last.end_offset <= self.snapshot_end, "only what the recovery point covers may change"
        return SegmentSwap(
            self._files, self._cache, self.directory, self._segments, replaced, cleaned, kept, self.snapshot_end
        )

    def finish_swap(self, swap: SegmentSwap) -> None:
        self._segments = swap.swapped(self._segments)
        swap.forget_replaced()

    # --- checkpoint and close --------------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint | None:
        """Capture a new recovery point; None if nothing is new or one is being written already.

        Whoever gets one writes it and then calls `checkpoint_written`, or `flush_failed` if that raised.
        """
        if self.state is not LogState.ONLINE or not self._segments or self._checkpoint_running:
            return None
        if self.snapshot_end == self.log_end and not self.unsnapshotted_bytes:
            return None
        entries = [segment.entry() for segment in self._segments]
        snapshot = encode_snapshot(self.log_end, entries, self._epochs.entries, self._producers.encode())
        # The first recovery point is worth nothing without the directories that lead to it.
        directories = [self.directory] if self.snapshot_end >= 0 else self._path_directories()
        checkpoint = Checkpoint(
            self._files, self._cache, directories, self.log_end, snapshot, self._config.index_interval_bytes
        )
        active = self._segments[-1]
        checkpoint.cover([segment for segment in self._segments if segment is active or not segment.index_written])
        self.unsnapshotted_bytes = 0
        self._checkpoint_running = True
        return checkpoint

    def checkpoint_not_written(self, covered_bytes: int) -> None:
        """The data was synced but its recovery point could not be saved, say on a full disk: to be tried again."""
        self._checkpoint_running = False
        self.unsnapshotted_bytes += covered_bytes

    def checkpoint_written(self, checkpoint: Checkpoint) -> None:
        self._checkpoint_running = False
        self.snapshot_end = max(self.snapshot_end, checkpoint.log_end)
        active = self._segments[-1] if self._segments else None
        for item in checkpoint.covered:
            if item.segment is not active and item.size == item.segment.size:
                item.segment.index_written = True
                item.segment.drop_index()

    def close(self, *, synced: bool = False) -> None:
        """Flush, write a last recovery point. Waits for the disk. `synced`: see `Checkpoint.write`."""
        if self.state is not LogState.ONLINE:
            return
        with contextlib.suppress(OSError):  # room that stays is found by the next start
            self._take_room_away()
        checkpoint = self.checkpoint()
        if checkpoint is not None:
            try:
                checkpoint.write(synced=synced)
            except OSError as error:
                if not checkpoint.data_is_synced:
                    self.flush_failed(error)
                    return
                # Only the recovery point is missing: the next start scans a little more.
            else:
                self.checkpoint_written(checkpoint)
        self._unflushed.abandon()
        self.flushed = self.log_end
