"""Single records of one partition on their way into a batch, no larger than the topic allows."""

from __future__ import annotations

from typing import Final

from penstock.broker.records.appender import RecordAppender, check_key
from penstock.cluster.partition import Partition
from penstock.model.batch import HEADER_BYTES, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.runtime.clock import Clock
from penstock.storage.interface import Appended

BATCH_BYTES_MAX: Final = 1 << 20


class Batcher:
    """Holds the records of the next batch. The caller appends before it adds a record that has no room."""

    __slots__ = ("_appender", "_bytes", "_clock", "_records", "partition")

    def __init__(self, partition: Partition, appender: RecordAppender, clock: Clock) -> None:
        self.partition = partition
        self._appender = appender
        self._clock = clock
        self._records: list[NewRecord] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._records)

    def check(self, record: NewRecord) -> None:
        """KafkaError for a record that can never be stored here."""
        check_key(record, self.partition.config)

    def has_room(self, size: int) -> bool:
        """Whether a record of this size fits the batch. Any fits an empty one; the log refuses what is too large."""
        limit = min(self.partition.config.max_message_bytes, BATCH_BYTES_MAX) - HEADER_BYTES
        return not self._records or self._bytes + size <= limit

    def add(self, record: NewRecord, size: int) -> None:
        """Add a record of at most this many bytes (`record_bytes_max`)."""
        self._bytes += size
        self._records.append(record)

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
