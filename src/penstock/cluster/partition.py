"""A partition is a log and a role. On a single node the role is always leader, and what is flushed is visible.

Handlers talk to partitions, never to logs: when replication joins, the high watermark comes from the followers
and nothing above this file changes. Waiters are called on the event loop, by the flush that raised the watermark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, PartitionId, TopicId
from penstock.storage.interface import AbortedTransaction, Appended, Log, LogState, ReadSlice
from penstock.storage.log.multi_segment_read import read_stretch

Waiter = Callable[[], None]
TAIL_BYTES_MAX: Final = 1024


class Tail(NamedTuple):
    """The last batch of a log, kept in memory because somebody waits for it: readable once its offset is."""

    offset: int
    next_offset: int
    batch: bytes


class Partition:
    """One partition that this node leads."""

    __slots__ = (
        "_data_waiters",
        "_flush_waiters",
        "deleted",
        "id",
        "index",
        "internal",
        "leader_epoch",
        "log",
        "mirror",
        "tail",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        partition: PartitionId,
        log: Log,
        leader_epoch: int,
        *,
        internal: bool = False,
        mirror: bool = False,
    ) -> None:
        self.topic = topic
        self.internal = internal
        self.mirror = mirror
        self.id = partition
        self.index = partition.partition
        self.log = log
        self.leader_epoch = leader_epoch
        self.deleted = False
        self._flush_waiters: list[tuple[int, Waiter]] = []
        self._data_waiters: set[Waiter] = set()
        self.tail: Tail | None = None

    @property
    def topic_id(self) -> TopicId:
        return self.id.topic_id

    @property
    def log_start(self) -> int:
        return self.log.log_start

    @property
    def high_watermark(self) -> int:
        return self.log.flushed

    @property
    def last_stable(self) -> int:
        """Where readers of committed records stop."""
        return self.log.last_stable

    @property
    def failed(self) -> bool:
        """Nothing more can be appended, flushed or read here; `failure` says why."""
        return self.deleted or self.log.state is LogState.OFFLINE

    @property
    def failure(self) -> ErrorCode:
        """What a request that waits here, or comes now, is answered."""
        if self.deleted:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.KAFKA_STORAGE_ERROR if self.log.state is LogState.OFFLINE else ErrorCode.NONE

    def mark_deleted(self) -> None:
        """The topic is gone: wake everybody who waits here, they look at `failure`."""
        self.deleted = True
        self.flush_advanced()

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        appended = self.log.append(batch, header, now_ms)
        if self._data_waiters and len(batch) <= TAIL_BYTES_MAX:
            self._keep(batch, header, appended)
        return appended

    def _keep(self, batch: bytearray | memoryview, header: BatchHeader, appended: Appended) -> None:
        """A batch of a transaction is not kept: whether it counts is known to the log alone."""
        if not appended.duplicate and not header.is_transactional:
            self.tail = Tail(appended.base_offset, appended.last_offset + 1, bytes(batch))

    def append_trusted(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        return self.log.append_trusted(batch, header, now_ms)

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        return self.log.append_marker(marker, now_ms)

    def read(self, offset: int, max_bytes: int, *, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        """Up to the high watermark, in one segment."""
        end = self.high_watermark
        return self.log.read(offset, max_bytes, end=end, one_batch_at_least=one_batch_at_least, wait=wait)

    def read_stretch(
        self,
        offset: int,
        max_bytes: int,
        *,
        one_batch_at_least: bool,
        wait: bool,
        committed_only: bool,
        slices_max: int,
    ) -> list[ReadSlice]:
        """Up to the high watermark, or up to the last stable offset; what was aborted below that is still in it."""
        return read_stretch(
            self.log,
            offset,
            max_bytes,
            end=self.log.last_stable if committed_only else self.log.flushed,
            one_batch_at_least=one_batch_at_least,
            wait=wait,
            slices_max=slices_max,
        )

    def aborted_transactions(self, start: int, end: int, *, wait: bool) -> list[AbortedTransaction]:
        """Those that readers of committed records must leave out of offsets [start, end), which they have read."""
        return self.log.aborted_transactions(start, end, wait=wait)

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Fencing by the epoch a client believes in; -1 means it does not say."""
        if current_leader_epoch in (NO_EPOCH, self.leader_epoch):
            return
        if current_leader_epoch < self.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)

    def when_flushed(self, last_offset: int, waiter: Waiter) -> bool:
        """Call `waiter` once everything up to `last_offset` is on disk or the log has failed (see `failed`).

        Returns True, without calling, if that is so already.
        """
        if self.log.flushed > last_offset or self.failed:
            return True
        self._flush_waiters.append((last_offset, waiter))
        return False

    def add_data_waiter(self, waiter: Waiter) -> None:
        """Call `waiter` at every rise of the high watermark, until it is removed."""
        self._data_waiters.add(waiter)

    def remove_data_waiter(self, waiter: Waiter) -> None:
        self._data_waiters.discard(waiter)
        if not self._data_waiters:
            self.tail = None

    def flush_advanced(self) -> None:
        """The log's `flushed` rose, or the log failed."""
        flushed = self.log.flushed
        if self._flush_waiters:
            waiting = self._flush_waiters
            if self.failed:
                self._flush_waiters = []
                due = waiting
            else:
                due = [item for item in waiting if item[0] < flushed]
                if len(due) == len(waiting):
                    self._flush_waiters = []
                else:
                    self._flush_waiters = [item for item in waiting if item[0] >= flushed]
            for _, waiter in due:
                waiter()
        for waiter in tuple(self._data_waiters):
            waiter()
