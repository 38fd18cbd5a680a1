"""From single records to batches: doors whose clients send message by message append through one of these.

    Batcher     the records of one partition on their way into a batch, no larger than the topic allows
    Gatherer    fills a batcher with the messages of many senders

Messages of one turn of the event loop are one batch: one append and one sync for all of them, and those that come
during the sync are the next one. A message costs two or three microseconds that way; a batch of its own would cost
forty. Kafka's clients gather for themselves.

Senders in a batch do not know each other, so none may spoil it for the rest. What can be seen in a message is refused
before it is in a batch; a batch that the log refuses for what is in it is appended in halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from penstock.broker.records.appender import RecordAppender, check_key, check_time
from penstock.cluster.partition import Partition
from penstock.model.batch import HEADER_BYTES, read_header
from penstock.model.batch_builder import NewRecord, build_batch, record_bytes_max
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.clock import Clock
from penstock.storage.interface import Appended

BATCH_BYTES_MAX: Final = 1 << 20
# Refusals for which a part of the batch may be to blame. The log is as it was before.
_OF_A_PART: Final = (ErrorCode.INVALID_TIMESTAMP, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)

Done = Callable[[int, KafkaError | None], None]
"""Called once: with the message's offset when readers see it, or with -1 and the reason why it is not stored."""


class Batcher:
    """Holds the records of the next batch. The caller appends it and adds a record again that had no room."""

    __slots__ = (
        "_appender", "_bytes", "_bytes_max", "_clock", "_config", "_earliest_ms", "_latest_ms", "_records", "partition",
    )  # fmt: skip

    def __init__(self, partition: Partition, appender: RecordAppender, clock: Clock) -> None:
        self.partition = partition
        self._appender = appender
        self._clock = clock
        self._config = partition.config  # read once for a batch: it is asked for every record
        self._records: list[NewRecord] = []
        self._bytes = self._bytes_max = 0
        self._earliest_ms = self._latest_ms = 0  # what is between them when the batch begins needs no closer look

    def add(self, record: NewRecord) -> bool:
        """Add a record, unless the batch has no room for it. KafkaError for a record that can never be stored here.

        An empty batch takes a record of any size; the log refuses what is too large.
        """
        records = self._records
        if not records:
            self._begin()
        if record.key is None:
            check_key(record, self._config)
        timestamp = record.timestamp
        if timestamp is not None and not self._earliest_ms <= timestamp <= self._latest_ms:
            check_time(record, self._config, self._clock.now_ms())
        size = self._bytes + record_bytes_max(record)
        if size > self._bytes_max and records:
            return False
        self._bytes = size
        records.append(record)
        return True

    def _begin(self) -> None:
        config, now_ms = self.partition.config, self._clock.now_ms()
        self._config = config
        self._bytes_max = min(config.max_message_bytes, config.segment_bytes, BATCH_BYTES_MAX) - HEADER_BYTES
        self._earliest_ms = now_ms - config.timestamp_before_max_ms
        self._latest_ms = now_ms + config.timestamp_after_max_ms

    def append(self, *, producer_id: int = -1, producer_epoch: int = -1, base_sequence: int = -1) -> Appended:
        """Append the batch and begin the next one, also if the partition refuses it with a KafkaError."""
        return self._write(self._take(), producer_id, producer_epoch, base_sequence)

    def append_apart(self) -> list[tuple[int, Appended | KafkaError]]:
        """Append the batch and begin the next one; what the partition refuses is appended in halves, in its order.

        Returns how many records were stored or refused together, and with which outcome.
        """
        return self._halve(self._take())

    def _halve(self, records: list[NewRecord]) -> list[tuple[int, Appended | KafkaError]]:
        count = len(records)
        try:
            return [(count, self._write(records))]
        except KafkaError as error:
            if count == 1 or error.code not in _OF_A_PART:
                return [(count, error)]
        return self._halve(records[: count // 2]) + self._halve(records[count // 2 :])

    def _take(self) -> list[NewRecord]:
        records, self._records, self._bytes = self._records, [], 0
        return records

    def _write(
        self, records: list[NewRecord], producer_id: int = -1, producer_epoch: int = -1, base_sequence: int = -1
    ) -> Appended:
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
            while not self._batcher.add(record):
                self._append()
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
        start, outcomes = 0, self._batcher.append_apart()  # all before a sender hears of it, and sends more
        for count, outcome in outcomes:
            told, start = done[start : start + count], start + count
            if isinstance(outcome, KafkaError):
                _refuse(told, outcome)
            else:
                self._batcher.partition.when_visible(outcome.last_offset, partial(_answer, outcome.base_offset, told))


def _answer(base_offset: int, done: Sequence[Done], code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        _refuse(done, KafkaError(code))
        return
    for offset, one in enumerate(done, base_offset):
        one(offset, None)


def _refuse(done: Sequence[Done], error: KafkaError) -> None:
    for one in done:
        one(-1, error)
