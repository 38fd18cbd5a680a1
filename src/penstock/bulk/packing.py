"""Packing of records into batches, partition by partition, in the order in which they come."""

from __future__ import annotations

import time
from collections.abc import Iterable

from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.murmur2 import partition_of
from penstock.model.topic_partition import TopicPartition

BATCH_BYTES = 500_000  # half of the default max.message.bytes: records are not cut
RECORD_BYTES = 16  # around key and value, about
RUN_ROWS = 500
KNOWN_KEYS_MAX = 100_000


class Packer:
    """Packs records. Keys go to the partitions of Kafka's Java client; rows without a key go in runs, in turn."""

    def __init__(self, topic: str, partition_count: int, codec: int = 0) -> None:
        self._places = [TopicPartition(topic, index) for index in range(partition_count)]
        self._codec = codec
        self._known: dict[bytes, int] = {}
        self._keyless = 0

    def pack(self, records: Iterable[NewRecord]) -> list[tuple[TopicPartition, bytearray]]:
        now = time.time_ns() // 1_000_000
        waiting: list[list[NewRecord]] = [[] for _ in self._places]
        sizes = [0] * len(self._places)
        batches = []
        for record in records:
            index = self._partition(record.key)
            size = RECORD_BYTES + len(record.value or b"") + len(record.key or b"")
            if sizes[index] + size > BATCH_BYTES and waiting[index]:
                batches.append((self._places[index], self._batch(waiting[index], now)))
                waiting[index], sizes[index] = [], 0
            waiting[index].append(record)
            sizes[index] += size
        batches += [(self._places[index], self._batch(each, now)) for index, each in enumerate(waiting) if each]
        return batches

    def _batch(self, records: list[NewRecord], now: int) -> bytearray:
        return build_batch(records, timestamp=now, codec=self._codec)

    def _partition(self, key: bytes | None) -> int:
        if key is None:
            self._keyless += 1
            return self._keyless // RUN_ROWS % len(self._places)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= KNOWN_KEYS_MAX:
                self._known.clear()
            found = self._known[key] = partition_of(key, len(self._places))
        return found
