"""A partition: a log, a role, and two marks, the high watermark and the last stable offset.

Other packages talk to partitions, never to logs; a test holds them to it. So replication can change the writer of a log
and the rule for the high watermark, and nothing above this package has to know.

    append > log > flush round > PartitionTable.on_flushed > log_advanced
                                                             raises the marks by the visibility rule,
                                                             then tells waiters in the order of their offsets

Waiters are called on the event loop, with their outcome. Everything is loop thread unless a docstring says otherwise.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from penstock.cluster.role import Follower, Leader, Mirror, Role
from penstock.cluster.visibility import ON_DISK, Visibility
from penstock.cluster.waits import Done, OffsetWaits
from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, PartitionId, TopicId
from penstock.storage.admission.append_rules import check_stamped_batch
from penstock.storage.interface import (
    AbortedTransaction,
    Appended,
    Log,
    LogConfig,
    LogState,
    OpenTransaction,
    ProducerView,
    ReadSlice,
    Scan,
    TimestampOffset,
)
from penstock.storage.log.multi_segment_read import read_stretch
from penstock.storage.segment.time_search import scan_here

DataWaiter = Callable[[], None]
TAIL_BYTES_MAX: Final = 1024
# Looked up once: every produce and fetch passes here.
_NONE: Final = ErrorCode.NONE
_OFFLINE: Final = LogState.OFFLINE


class OffsetSpec(enum.Enum):
    """Marked places of a log, for a look-up by place instead of by time."""

    EARLIEST = "earliest"
    LATEST = "latest"
    MAX_TIMESTAMP = "max timestamp"


class LastBatch(NamedTuple):
    """The last batch of a log, kept in memory while readers wait for it; readable once the marks have passed it."""

    offset: int
    next_offset: int
    batch: bytes


class Partition:
    """One partition of a topic on this node."""

    __slots__ = (
        "_data_waiters", "_last_stable", "_log", "_refusal", "_status", "_stored_end", "_stored_waits",
        "_takes_appends", "_visibility", "_visible_waits", "deleted", "high_watermark", "id", "index", "internal",
        "last_batch", "mirror", "role", "topic",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        partition: PartitionId,
        log: Log,
        role: Role,
        visibility: Visibility = ON_DISK,
        *,
        internal: bool = False,
    ) -> None:
        self.topic = topic
        self.internal = internal
        self.id = partition
        self.index = partition.partition
        self.deleted = False
        self.last_batch: LastBatch | None = None
        self._log = log
        self._status = log.status
        self._visibility = visibility
        self._set_role(role)
        self._stored_waits: OffsetWaits | None = None  # made for the first: few producers use acks=1
        self._visible_waits = OffsetWaits()
        self._data_waiters: dict[DataWaiter, None] = {}  # smaller than a set while it is empty
        self.high_watermark = self._last_stable = self._stored_end = 0
        self.restarted()

    # --- identity and state ------------------------------------------------------------------------------------------

    @property
    def topic_id(self) -> TopicId:
        return self.id.topic_id

    @property
    def leader_epoch(self) -> int:
        return self.role.epoch

    @property
    def config(self) -> LogConfig:
        """The topic's configs, resolved. Another object after every change, so identity tells whether it changed."""
        return self._status.config

    @property
    def state(self) -> LogState:
        return self._status.state

    @property
    def size_bytes(self) -> int:
        return self._log.size_bytes

    @property
    def segment_count(self) -> int:
        return self._log.segment_count

    @property
    def failed(self) -> bool:
        """Whether clients are refused whatever they ask; `failure` says why."""
        return self.deleted or self._status.state is _OFFLINE or self._refusal is not _NONE

    @property
    def failure(self) -> ErrorCode:
        """The answer to a request that waits here, or comes now; NONE if it can be served."""
        if self.deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.KAFKA_STORAGE_ERROR if self._status.state is _OFFLINE else self._refusal

    # --- offsets -----------------------------------------------------------------------------------------------------

    @property
    def log_start(self) -> int:
        return self._status.log_start

    @property
    def log_end(self) -> int:
        """Offset of the next record, after those that are not visible yet."""
        return self._log.log_end

    @property
    def last_stable(self) -> int:
        """The last stable offset, where readers of committed records stop.

        Deleting the front of the log may overtake an open transaction.
        """
        stable, start = self._last_stable, self._status.log_start
        return stable if stable > start else start

    def bounds(self) -> tuple[int, int, int]:
        """Log start, last stable offset and high watermark: all that the answer to a reader says of the partition."""
        stable, start = self._last_stable, self._status.log_start
        return start, (stable if stable > start else start), self.high_watermark

    def visible_end(self, *, committed_only: bool) -> int:
        """The offset where readers of an isolation level stop."""
        return self.last_stable if committed_only else self.high_watermark

    def find_offset(self, wanted: OffsetSpec | int, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        """The marked place, or the first record below `end` with at least the timestamp `wanted`; any thread.

        LATEST and EARLIEST are known at once; the others read segments and wait for the disk. `scan` may take a batch
        to another process. The largest timestamp is looked for among all visible records, as in Kafka: while it lies
        at or above `end`, because a transaction is open, nothing is found.
        """
        if isinstance(wanted, int):
            return self._log.find_timestamp(wanted, end=end, scan=scan)
        if wanted is OffsetSpec.LATEST:
            return TimestampOffset(-1, end, self.leader_epoch)
        if wanted is OffsetSpec.EARLIEST:
            start = self._status.log_start
            return TimestampOffset(-1, start, self._log.epoch_at(start))
        found = self._log.find_max_timestamp(end=self.high_watermark, scan=scan)
        return None if found is None or found.offset >= end else found

    def check_epoch(self, current_leader_epoch: int) -> None:
        """KafkaError if a client believes in another leader epoch; NO_EPOCH means that it names none."""
        if current_leader_epoch not in (NO_EPOCH, self.role.epoch):
            self.role.check_epoch(current_leader_epoch)

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        """The largest epoch that is not above the given one, and the visible offset where it ends, or (-1, -1)."""
        epoch, end = self._log.epoch_end(leader_epoch)
        return epoch, min(end, self.high_watermark)

    def epoch_at(self, offset: int) -> int:
        """Leader epoch of the record at `offset`, -1 if unknown."""
        return self._log.epoch_at(offset)

    # --- append ------------------------------------------------------------------------------------------------------

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        """Append a client's batch. KafkaError as `Log.append` raises it, or because of the role."""
        if not self._takes_appends:
            raise self.role.append_refusal(self.topic)
        appended = self._log.append(batch, header, now_ms)
        if self._data_waiters and len(batch) <= TAIL_BYTES_MAX:
            self._keep(batch, header, appended)
        return appended

    def _keep(self, batch: bytearray | memoryview, header: BatchHeader, appended: Appended) -> None:
        # A batch of a transaction is not kept: only the log can tell whether it was aborted.
        if not appended.duplicate and not header.is_transactional:
            self.last_batch = LastBatch(appended.base_offset, appended.last_offset + 1, bytes(batch))

    def check_stamped(self, header: BatchHeader, now_ms: int) -> None:
        """KafkaError unless a client's batch may bring the stamp of LogAppendTime with it."""
        check_stamped_batch(self._status.config, header, now_ms)

    def append_trusted(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        """Append records of the broker's own; they may use the disk reserve."""
        if not self._takes_appends:
            raise self.role.append_refusal(self.topic)
        return self._log.append_trusted(batch, header, now_ms)

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        """End a producer's transaction in this partition."""
        if not self._takes_appends:
            raise self.role.append_refusal(self.topic)
        return self._log.append_marker(marker, now_ms)

    def append_mirrored(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        """Append a batch of the log that this one is a copy of, with the offsets and leader epoch it has there."""
        if not self.role.takes_mirrored_appends:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{self.topic}-{self.index} is led here and is not a copy")
        self._log.append_mirrored(batch, header, now_ms)

    async def delete_records(self, before: int) -> None:
        """Raise the log start to `before`, durably; a thread waits for the disk. KafkaError, OSError."""
        await asyncio.to_thread(self._log.save_log_start, before)
        if self.failed:
            raise KafkaError(self.failure)
        self._log.delete_records(before, saved=True)

    # --- producers and transactions ----------------------------------------------------------------------------------

    def producers(self) -> Sequence[ProducerView]:
        """The idempotent producers that the log remembers."""
        return self._log.producers()

    def producer(self, producer_id: int) -> ProducerView | None:
        """Return what the log knows of a producer; None if it knows nothing, or nothing any more."""
        return self._log.producer(producer_id)

    def find_sequence(self, producer_id: int, sequence: int) -> tuple[int, int] | None:
        """Offset of a record among a producer's last batches, and the largest timestamp of its batch."""
        return self._log.find_sequence(producer_id, sequence)

    def open_transactions(self) -> list[OpenTransaction]:
        """Transactions that no marker has ended, by first offset."""
        return self._log.open_transactions()

    def aborted_transactions(self, start: int, end: int, *, wait: bool) -> list[AbortedTransaction]:
        """Transactions that readers of committed records leave out of offsets [start, end); any thread."""
        return self._log.aborted_transactions(start, end, wait=wait)

    # --- read --------------------------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, *, one_batch_at_least: bool, wait: bool, end: int | None = None
    ) -> ReadSlice:
        """Batches of one segment up to the high watermark, or up to a lower `end`; any thread.

        BlockingIOError with wait=False if the disk would be waited for. KafkaError as `Log.read` raises it.
        """
        if end is None:
            end = self.high_watermark
        return self._log.read(offset, max_bytes, end=end, one_batch_at_least=one_batch_at_least, wait=wait)

    def read_stretch(
        self,
        offset: int,
        max_bytes: int,
        *,
        one_batch_at_least: bool,
        wait: bool,
        end: int,
        slices_max: int,
    ) -> list[ReadSlice]:
        """Batches of up to `slices_max` segments, up to `end`, a mark of the partition; any thread.

        They still hold aborted records below the last stable offset.
        """
        return read_stretch(
            self._log,
            offset,
            max_bytes,
            end=end,
            one_batch_at_least=one_batch_at_least,
            wait=wait,
            slices_max=slices_max,
        )

    # --- role --------------------------------------------------------------------------------------------------------

    def become_leader(self, epoch: int) -> None:
        """Serve clients from now on, and stamp `epoch` into their batches. KafkaError for an older epoch."""
        self._take_role(Leader(epoch))
        self._log.begin_epoch(epoch)
        self.log_advanced()

    def become_follower(self, epoch: int) -> None:
        """Copy another node's log from now on. Waiting clients are answered NOT_LEADER_OR_FOLLOWER."""
        self._take_role(Follower(epoch))
        self.last_batch = None
        self._end_waits(self._refusal)

    def become_mirror(self) -> None:
        """Copy the parent's partition from now on: clients read, and only the pipe writes."""
        self._take_role(Mirror())
        self.log_advanced()

    def follow_high_watermark(self, leaders: int) -> None:
        """Raise a follower's high watermark to its leader's, at most to the end of what is stored here."""
        end = min(leaders, self._stored_end)
        if isinstance(self.role, Follower) and end > self.high_watermark:
            self._raise_marks(end)

    def _take_role(self, role: Role) -> None:
        if role.epoch < self.role.epoch and not isinstance(role, Mirror):  # a mirror has no epoch of its own
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH, f"epoch {role.epoch} after {self.role.epoch}")
        self._set_role(role)

    def _set_role(self, role: Role) -> None:
        """Take what a role says into attributes: every request asks for some of it."""
        self.role = role
        self.mirror = isinstance(role, Mirror)
        """Whether it is a copy of a parent's partition."""
        self._takes_appends = role.takes_appends
        self._refusal = role.refusal

    # --- waits -------------------------------------------------------------------------------------------------------

    def when_stored(self, last_offset: int, done: Done) -> None:
        """Call `done` once this node has stored everything up to `last_offset`, or with why that will not be.

        Stored means on disk, unless `storage.flush` is set not to wait for the disk. `done` is called at once if
        the outcome is known.
        """
        if self._stored_end > last_offset:
            done(_NONE)
        elif self.deleted or self._status.state is _OFFLINE:
            done(self.failure)
        else:
            if self._stored_waits is None:
                self._stored_waits = OffsetWaits()
            self._stored_waits.add(last_offset, done)

    def when_visible(self, last_offset: int, done: Done) -> None:
        """Call `done` once readers see everything up to `last_offset`, or with why that will not be.

        `done` is called at once if the outcome is known.
        """
        if self.high_watermark > last_offset:
            done(_NONE)
        elif self.deleted or self._refusal is not _NONE or self._status.state is _OFFLINE:
            done(self.failure)
        else:
            self._visible_waits.add(last_offset, done)

    def stop_waiting(self, last_offset: int, done: Done) -> None:
        """Forget a waiter of either kind, which is not called then."""
        if not self._visible_waits.cancel(last_offset, done) and self._stored_waits is not None:
            self._stored_waits.cancel(last_offset, done)

    def add_data_waiter(self, waiter: DataWaiter) -> None:
        """Call `waiter` at every rise of the high watermark, and when the partition fails, until it is removed."""
        self._data_waiters[waiter] = None

    def remove_data_waiter(self, waiter: DataWaiter) -> None:
        self._data_waiters.pop(waiter, None)
        if not self._data_waiters:
            self.last_batch = None

    # --- the log -----------------------------------------------------------------------------------------------------

    def log_advanced(self) -> None:
        """Raise the marks and tell waiters: the log was written or flushed further, or it has failed."""
        log, visibility = self._log, self._visibility
        if self.deleted or self._status.state is _OFFLINE:
            self._end_waits(self.failure)
            return
        stored = self._stored_end = visibility.stored(log)
        if self._stored_waits is not None and self._stored_waits.waiting:
            self._stored_waits.release(stored)
        if self._refusal is _NONE:  # the leader tells a follower its high watermark: `follow_high_watermark`
            end = visibility.high_watermark(log, stored)
            if end > self.high_watermark:
                self._raise_marks(end)

    def _raise_marks(self, end: int) -> None:
        self.high_watermark = end
        self._last_stable = self._log.stable_end(end)
        self._visible_waits.release(end)
        for waiter in tuple(self._data_waiters):
            waiter()

    def restarted(self) -> None:
        """Take the marks from a log that was just opened, or that begins again at another offset."""
        self._stored_end = self._visibility.stored(self._log)
        self.high_watermark = self._visibility.high_watermark(self._log, self._stored_end)
        self._last_stable = self._log.stable_end(self.high_watermark)

    def mark_deleted(self) -> None:
        """Fail all waiters: the topic is gone."""
        self.deleted = True
        self._end_waits(self.failure)

    def _end_waits(self, code: ErrorCode) -> None:
        if self._stored_waits is not None:
            self._stored_waits.fail(code)
        self._visible_waits.fail(code)
        for waiter in tuple(self._data_waiters):
            waiter()
