"""From Arrow rows of an archive to record batches, with their times, keys and headers."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.bulk.packing import Packer
from penstock.bulk.topics import KnownTopic
from penstock.model.batch_builder import NewRecord
from penstock.model.topic_partition import TopicPartition
from penstock_spark.bulk.sorted_file import US_PER_MS, longs


class RowPacker:
    """`keep_partitions`: to the partition of the same number; otherwise by key, as Kafka's Java client does."""

    def __init__(self, topic: KnownTopic, *, keep_partitions: bool, codec: int = 0) -> None:
        self._keep = keep_partitions
        self._packer = Packer(topic.name, topic.partition_count, codec)

    def pack(self, partition: int, rows: pa.RecordBatch) -> list[tuple[TopicPartition, bytearray]]:
        return self._packer.pack(_records(rows), partition if self._keep else None)


def _records(rows: pa.RecordBatch) -> Iterator[NewRecord]:
    times = (longs(rows.column("timestamp")) // US_PER_MS).tolist()
    keys, values = rows.column("key").to_pylist(), rows.column("value").to_pylist()
    for key, value, time_ms, headers in zip(keys, values, times, rows.column("headers").to_pylist(), strict=True):
        pairs = tuple((each["key"], each["value"]) for each in headers or ())
        yield NewRecord(key, value, pairs, time_ms)
