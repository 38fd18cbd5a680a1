"""One partition's records on disk: append at the end, read anywhere, roll, flush, checkpoint, forget the front.

    log_start ≤ … sealed segments … ≤ active segment: … flushed … log_end
                                                       visible    written, not yet synced

The event loop is the only one to change a log. Reads, look-ups by time and the flush thread take what they
need once, from attributes that are replaced and never changed in place. No file exists before the first
record.

Owned by `engine.disk_engine`; waits for the disk only where a docstring says so. Reading is in `log.reader`,
writing and flushing in `log.appender`; what was on disk before is the business of `recovery.recovery`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.runtime.files import Files
from penstock.storage import layout
from penstock.storage.compaction.swap import SegmentSwap
from penstock.storage.flush.flushable import FileCache, FlushQueue, LogJournal
from penstock.storage.interface import LogConfig, LogState, OpenTransaction, ProducerView
from penstock.storage.log.preallocation import Room
from penstock.storage.log.reader import OnDamage
from penstock.storage.log.replica_append import MirrorWriter
from penstock.storage.log.unflushed_files import UnflushedFiles
from penstock.storage.observer import EngineObserver, SilentObserver
from penstock.storage.recovery.checkpoint import Checkpoint
from penstock.storage.recovery.recovery import RecoveredLog, recover
from penstock.storage.recovery.snapshot import SegmentEntry, encode_snapshot
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.segment import Segment

_SILENT = SilentObserver()


class DiskLog(MirrorWriter):
    """Implements `storage.interface.Log` and `storage.flush_queue.Flushable`."""

    __slots__ = ("_checkpoint_running", "_journal", "partition", "topic")

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
        self._transactions = recovered.producers.transactions
        self._epochs = recovered.epochs
        self.log_start = log_start
        self.log_end = self.flushed = recovered.log_end
        self.last_stable = self._stable_end()
        self.readable_end = 1 << 63
        self.state = LogState.ONLINE
        if recovered.damage is not None:
            self.state = LogState.DAMAGED
            self.readable_end = recovered.damage.readable_end
        self.snapshot_end = recovered.snapshot_end
        self.unsnapshotted_bytes = recovered.scanned_bytes
        self._end_mark = self._mark()
        self._flush_mark = self._flushing = self._end_mark
        if self.log_end < log_start:  # a process that was killed had begun to forget everything below
            self._segments = ()
            self._begin_at(log_start)

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

    def producer(self, producer_id: int) -> ProducerView | None:
        return self._producers.view(producer_id)

    def find_sequence(self, producer_id: int, sequence: int) -> tuple[int, int] | None:
        return self._producers.find_sequence(producer_id, sequence)

    def open_transactions(self) -> list[OpenTransaction]:
        return self._producers.open_transactions()

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
            if segment.aborted is not None:
                if segment.aborted.used:
                    segment.aborted.used = False
                elif segment.aborted.is_whole:
                    segment.drop_aborted()

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
            self.last_stable = max(self.last_stable, before)
            self._epochs.cut_front(before)

    @property
    def is_saving(self) -> bool:
        """A recovery point is being written."""
        return self._checkpoint_running

    def save_front(self, log_start: int) -> None:
        """Any thread. Durably what segments that are about to go cannot give back."""
        self._journal.set_log_start(self.partition, log_start)
        self._journal.replace_epochs(self.partition, self._epochs.entries)

    def drop_front(self, count: int, log_start: int) -> list[Path]:
        """Forget the oldest segments, after `save_front`; returns the files to remove."""
        dropped, self._segments = self._segments[:count], self._segments[count:]
        self.log_start = max(self.log_start, log_start)
        self.last_stable = max(self.last_stable, self.log_start)
        self._epochs.cut_front(self.log_start)
        paths: list[Path] = []
        for segment in dropped:
            self._cache.forget(segment.path)
            paths += (segment.path, *layout.derived_paths(self.directory, segment.base_offset))
        return paths

    def begin_swap(
        self, replaced: Sequence[Segment], cleaned: Path, kept: SegmentEntry, aborted: Sequence[AbortedEntry] = ()
    ) -> SegmentSwap:
        """Put compaction's output, synced as `cleaned`, in the place of sealed neighbours.

        Whoever gets the swap writes it, calls `finish_swap` and lets go; no recovery point may be written meanwhile.
        """
        last = replaced[-1]
        assert last is not self._segments[-1]
        assert last.end_offset <= self.snapshot_end, "only what the recovery point covers may change"
        return SegmentSwap(
            self._files, self._cache, self.directory, self._segments, replaced, cleaned, kept, aborted,
            self.snapshot_end,
        )  # fmt: skip

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
                item.segment.drop_aborted()

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
        self.last_stable = self._stable_end()
