"""From single records to batches: doors whose clients send message by message append through one of these.

    Batcher     the records of one partition on their way into a batch, no larger than the topic allows
    Gatherer    fills a batcher with the messages of many senders

Messages of one turn of the event loop are one batch: one append and one sync for all of them, and those that come
during the sync are the next one. A message costs two or three microseconds that way; a batch of its own would cost
forty. Kafka's clients gather for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from penstock.broker.records.appender import RecordAppender, check_key
from penstock.cluster.partition import Partition
from penstock.model.batch import HEADER_BYTES, read_header
from penstock.model.batch_builder import NewRecord, build_batch, record_bytes_max
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.clock import Clock
from penstock.storage.interface import Appended

BATCH_BYTES_MAX: Final = 1 << 20

Done = Callable[[int, KafkaError | None], None]
"""Called once: with the message's offset when readers see it, or with -1 and the reason why it is not stored."""


class Batcher:
    """Holds the records of the next batch. The caller appends it and adds a record again that had no room."""

    __slots__ = ("_appender", "_bytes", "_bytes_max", "_clock", "_config", "_records", "partition")

    def __init__(self, partition: Partition, appender: RecordAppender, clock: Clock) -> None:
        self.partition = partition
        self._appender = appender
        self._clock = clock
        self._config = partition.config  # read once for a batch: it is asked for every record
        self._records: list[NewRecord] = []
        self._bytes = self._bytes_max = 0

    def add(self, record: NewRecord) -> bool:
        """Add a record, unless the batch has no room for it. KafkaError for a record that can never be stored here.

        An empty batch takes a record of any size; the log refuses what is too large.
        """
        records = self._records
        if not records:
            config = self._config = self.partition.config
            self._bytes_max = min(config.max_message_bytes, BATCH_BYTES_MAX) - HEADER_BYTES
        if record.key is None:
            check_key(record, self._config)
        size = self._bytes + record_bytes_max(record)
        if size > self._bytes_max and records:
            return False
        self._bytes = size
        records.append(record)
        return True

    def append(self, *, producer_id: int = -1, producer_epoch: int = -1, base_sequence: int = -1) -> Appended:
        """Append the batch and begin the next one, also if the partition refuses it with a KafkaError."""
        records, self._records, self._bytes = self._records, [], 0
        now_ms = self._clock.now_ms()
        batch = build_batch(
            records,
            timestamp=now_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            codec=self.partition.config.codec or 0,
        )
        return self._appender.append(self.partition, batch, read_header(batch), now_ms)


class Gatherer:
    """The gatherer of one partition. Everything happens on the event loop, whose `call_soon` ends a turn's batch."""

    __slots__ = ("_batcher", "_call_soon", "_done")

    def __init__(self, batcher: Batcher, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._batcher = batcher
        self._call_soon = call_soon
        self._done: list[Done] = []

    def add(self, record: NewRecord, done: Done) -> None:
        """Store a record with the others of this turn. `done` is called at once if it can never be stored."""
        try:
            if not self._batcher.add(record):
                self._append()
                self._batcher.add(record)
        except KafkaError as error:
            done(-1, error)
            return
        if not self._done:
            self._call_soon(self._append)
        self._done.append(done)

    def _append(self) -> None:
        done, self._done = self._done, []
        if not done:
            return
        try:
            appended = self._batcher.append()
        except KafkaError as error:
            _refuse(done, error)
            return
        self._batcher.partition.when_visible(appended.last_offset, partial(_answer, appended.base_offset, done))


def _answer(base_offset: int, done: Sequence[Done], code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        _refuse(done, KafkaError(code))
        return
    for offset, one in enumerate(done, base_offset):
        one(offset, None)


def _refuse(done: Sequence[Done], error: KafkaError) -> None:
    for one in done:
        one(-1, error)
