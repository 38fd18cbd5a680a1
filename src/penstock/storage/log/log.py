"""One partition's records on disk: append at the end, read anywhere, roll, flush, checkpoint, forget the front.

    log_start ≤ … sealed segments … ≤ active segment: … flushed … log_end
                                                       on disk    written, not yet synced

A log is put together from parts, each the owner of its state; this file builds them and passes calls on:

    status          `admission.status`  whether it can be used, configs, log start, flushed
    segments        `segment_list`      the tuple of segments
    tail            `tail`              the active file, log end, rolling
    appender        `admission.appender` rules, producers, epochs; shared with logs in memory
    durability      `durability`        raises flushed: the log's side of flush rounds
    reader          `reader`            slices by offset; `time_lookup`, `aborted_lookup` search
    front           `front`             raising the log start
    recovery point  `recovery_point`    checkpoints

The event loop is the only one to change a log. Reads, look-ups and the flush thread take what they need once, from
attributes that are replaced and never changed in place. No file exists before the first record.

Owned by `engine.disk_engine`; waits for the disk only where a docstring says so. Opening a directory, with all that a
crash may have left in it, is the business of `recovery.recovery`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.model.errors import KafkaError
from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.admission.appender import Appender
from penstock.storage.admission.status import Status
from penstock.storage.checkpoint.checkpoint import Checkpoint
from penstock.storage.interface import (
    AbortedTransaction,
    Appended,
    LogConfig,
    LogState,
    OpenTransaction,
    ProducerView,
    Scan,
    TimestampOffset,
)
from penstock.storage.log.aborted_lookup import AbortedLookup
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.durability import Durability
from penstock.storage.log.front import LogFront
from penstock.storage.log.reader import LogReader
from penstock.storage.log.recovered_log import RecoveredLog
from penstock.storage.log.recovery_point import RecoveryPoint
from penstock.storage.log.segment_list import SegmentList
from penstock.storage.log.tail import DiskTail
from penstock.storage.log.time_lookup import TimeLookup
from penstock.storage.log.unflushed_files import UnflushedFiles
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.segment import Segment
from penstock.storage.segment.time_search import scan_here


class DiskLog:
    """Implements `storage.interface.Log` and `flush.flushable.Flushable`.

    `append` and `read` are the parts' own methods, without a call between: every request comes here. The rest is not
    kept in the log, since there may be many thousands of logs.
    """

    __slots__ = (
        "_appender", "_durability", "_epochs", "_producers", "_reader", "_recovery_point", "_segments", "_tail",
        "_unflushed", "append", "context", "identity", "partition", "read", "status", "topic",
    )  # fmt: skip

    def __init__(
        self,
        context: LogContext,
        identity: LogIdentity,
        recovered: RecoveredLog,
        *,
        config: LogConfig,
        leader_epoch: int,
    ) -> None:
        self.context = context
        self.identity = identity
        self.topic = identity.topic
        self.partition = identity.partition
        self.status = Status(
            config, recovered.log_start, None if recovered.damage is None else recovered.damage.readable_end
        )
        self._producers = recovered.producers
        self._epochs = recovered.epochs
        self._segments = SegmentList(recovered.segments)
        self._unflushed = UnflushedFiles(context.cache)
        self._tail = DiskTail(context, identity, self._segments, recovered.log_end, self._unflushed, self.status)
        self._durability = Durability(context, identity, self._tail, self._unflushed, self._producers, self.status)
        self._recovery_point = RecoveryPoint(context, identity, self._segments, self._tail, self.status, recovered)
        self._reader = LogReader(context, identity, self._segments, self._tail, self._durability, self.status)
        self._appender = Appender(
            self._tail,
            self.status,
            self._producers,
            self._epochs,
            context.gate,
            context.commit,
            self,
        )
        self.read = self._reader.read
        self.append = self._appender.append
        if recovered.log_end < recovered.log_start:  # a process was killed while it forgot everything below
            self._segments.clear()
            self._begin_at(recovered.log_start)
        self._appender.begin_epoch(leader_epoch)

    # --- what it is ------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the log in messages: topic-partition."""
        return self.identity.name

    @property
    def state(self) -> LogState:
        return self.status.state

    @property
    def readable_end(self) -> int:
        """Offset of the first damage, from which on nothing is served; above every offset if there is none."""
        return self.status.readable_end

    @property
    def log_start(self) -> int:
        return self.status.log_start

    @property
    def last_stable(self) -> int:
        """The stable end of what is settled, for compaction."""
        return self._durability.last_stable

    @property
    def settled(self) -> int:
        """End of the records that may have been acknowledged, for retention."""
        return self._durability.settled

    @property
    def flushed(self) -> int:
        return self.status.flushed

    @property
    def log_end(self) -> int:
        return self._tail.log_end

    @property
    def config(self) -> LogConfig:
        return self.status.config

    def set_config(self, config: LogConfig) -> None:
        self.status.config = config

    @property
    def directory(self) -> Path:
        return self.identity.directory

    @property
    def files(self) -> Files:
        return self.context.files

    @property
    def size_bytes(self) -> int:
        return self._segments.size_bytes

    @property
    def segment_count(self) -> int:
        return len(self._segments.all)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Oldest first; the last is the active one. For retention, compaction and scrubbing."""
        return self._segments.all

    # --- append ----------------------------------------------------------------------------------------

    def append_trusted(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        return self._appender.append_trusted(batch, header, now_ms)

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        return self._appender.append_marker(marker, now_ms)

    def append_mirrored(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        self._appender.append_mirrored(batch, header, now_ms)

    def begin_epoch(self, leader_epoch: int) -> None:
        self._appender.begin_epoch(leader_epoch)

    def roll(self) -> None:
        """Begin a new segment at the end of the log. OSError if that cannot be."""
        self._tail.roll()

    # --- producers, transactions, epochs ---------------------------------------------------------------

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

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        return self._epochs.end_of(leader_epoch, self._tail.log_end)

    def epoch_at(self, offset: int) -> int:
        return self._epochs.at(offset)

    # --- flush rounds ----------------------------------------------------------------------------------

    def flush_targets(self) -> tuple[int, list[File]]:
        return self._durability.flush_targets()

    def flush_completed(self, end: int) -> None:
        self._durability.flush_completed(end)

    def stable_end(self, below: int) -> int:
        return self._durability.stable_end(below)

    def note_written(self) -> None:
        self._durability.note_written()

    def let_go(self) -> None:
        self._durability.let_go()

    # --- look-ups --------------------------------------------------------------------------------------

    def find_timestamp(self, timestamp_ms: int, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return self._times().find_timestamp(timestamp_ms, end=end, scan=scan)

    def find_max_timestamp(self, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return self._times().find_max_timestamp(end=end, scan=scan)

    def _times(self) -> TimeLookup:
        # Made when it is needed: there are many logs, and few look-ups by time.
        return TimeLookup(self._segments, self.status, self._reader)

    def aborted_transactions(self, start: int, end: int, *, wait: bool) -> list[AbortedTransaction]:
        return [AbortedTransaction(*entry[:2]) for entry in self.aborted_entries(start, end, wait=wait)]

    def aborted_entries(self, start: int, end: int, *, wait: bool) -> list[AbortedEntry]:
        """Entries of `aborted_transactions`, with all that is known of them."""
        return AbortedLookup(self.context, self.identity, self._segments).entries(start, end, wait=wait)

    def damaged(self, segment: Segment, position: int, offset: int, reason: str) -> KafkaError:
        """Refuse writes, and reads from a damaged batch on. Returns the error. Any thread."""
        return self._reader.damaged(segment, position, offset, reason)

    # --- the front of the log --------------------------------------------------------------------------

    def _front(self) -> LogFront:
        return LogFront(self.context, self.identity, self._segments, self._durability, self._epochs, self.status)

    def save_log_start(self, before: int) -> None:
        self._front().save_log_start(before)

    def delete_records(self, before: int, *, saved: bool = False) -> None:
        self._front().delete_records(before, saved=saved)

    def save_front(self, log_start: int) -> None:
        """Make durable what segments that are about to go cannot give back. Waits for the disk. Any thread."""
        self._front().save(log_start)

    def drop_front(self, count: int, log_start: int) -> list[Path]:
        """Forget the oldest segments, after `save_front`; returns the files to remove."""
        return self._front().drop(count, log_start)

    def drop_unused_indexes(self) -> None:
        """Let go of the indexes of sealed segments that no reader used since the last call."""
        self._segments.drop_unused_indexes()

    def segments_with(self, replaced: Sequence[Segment], segment: Segment) -> tuple[Segment, ...]:
        """The segments as they will be with one in the place of these neighbours."""
        return self._segments.with_replaced(replaced, segment)

    def replace_segments(self, replaced: Sequence[Segment], segment: Segment) -> None:
        """Compaction's output, which has their name by now, takes the place of these sealed neighbours."""
        self._segments.all = self._segments.with_replaced(replaced, segment)
        for old in replaced:
            self.context.cache.forget(old.path)

    def restart_at(self, offset: int) -> None:
        """Forget everything and go on at `offset`. Waits for the disk.

        The log start is durable, and no flush round holds files of this log. Recovery points go first: without them
        nothing is known of the producers from before, whose markers may lie in batches that this log never saw.
        """
        assert self.log_end <= offset
        files, directory = self.context.files, self.identity.directory
        names = files.list_names(directory) if files.exists(directory) else []
        for name in names:
            if layout.offset_of(name, layout.SNAPSHOT) is not None:
                files.remove(directory / name)
        self._unflushed.abandon()
        for segment in self._segments.clear():
            self.context.cache.forget(segment.path)
            for path in (segment.path, *layout.derived_paths(directory, segment.base_offset)):
                if files.exists(path):
                    files.remove(path)
        if names:
            files.sync_directory(directory)
        self._begin_at(offset)

    def _begin_at(self, offset: int) -> None:
        """Begin empty: the first record will be at `offset` or above."""
        self.status.log_start = offset
        self._producers.forget_all()
        self._epochs.cut_front(offset)
        self._tail.restart_at(offset)
        self._durability.begin_at_end()
        self._recovery_point.restart()

    # --- recovery points and closing -------------------------------------------------------------------

    @property
    def is_saving(self) -> bool:
        """Whether a recovery point is being written."""
        return self._recovery_point.is_saving

    @property
    def snapshot_end(self) -> int:
        """Offset below which the newest recovery point covers everything; -1 if there is none."""
        return self._recovery_point.snapshot_end

    @property
    def unsnapshotted_bytes(self) -> int:
        """Bytes above the recovery point, or above the one that is being written."""
        return self._tail.written_bytes - self._recovery_point.covered_bytes

    def want_checkpoint(self) -> None:
        """Make the next `checkpoint` give a recovery point even if nothing was written since the last one."""
        self._recovery_point.want()

    def checkpoint(self) -> Checkpoint | None:
        """Capture a new recovery point; None if nothing is new or one is being written already.

        The caller writes it and then calls `checkpoint_written`, or `flush_failed` if a sync failed.
        """
        return self._recovery_point.capture() if self.state is LogState.ONLINE else None

    def checkpoint_written(self, checkpoint: Checkpoint) -> None:
        self._recovery_point.written(checkpoint)

    def checkpoint_not_written(self, covered_bytes: int) -> None:
        """Make a recovery point due again: data was synced, but the point could not be saved, say on a full disk."""
        self._recovery_point.not_written(covered_bytes)

    def flush_failed(self, error: OSError) -> None:
        """Record the failure beside the log, which is offline for good. Waits for the disk, once."""
        self._durability.flush_failed(error)

    def take_offline(self) -> None:
        """Refuse everything from now on: the topic was deleted."""
        self.status.take_offline()

    def close(self, *, synced: bool = False) -> None:
        """Flush, write a last recovery point. Waits for the disk. `synced`: see `Checkpoint.write`."""
        if self.state is not LogState.ONLINE:
            return
        with contextlib.suppress(OSError):  # zeros that stay at the end are found by the next start
            self._tail.cut_preallocation()
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
        self._durability.closed()
