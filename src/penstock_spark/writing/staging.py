"""The staging topic, for output that is too large for a commit message: records that hold record batches.

A batch is the value of a record, so that nothing that the broker does to its own batches (times, retention, offsets)
affects it; the key names its destination. The commit message has the offsets. Output of attempts that are never
committed ages out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence

from penstock.client.answer_error import check
from penstock.client.cluster import Cluster
from penstock.client.fetches import fetch_everything
from penstock.client.idempotent import IdempotentProducer
from penstock.client.topics import ensure_topic
from penstock.model.batch import iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode
from penstock.model.records import batch_records
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import DataLost

TOPIC = "__penstock_staging"
PARTITIONS = 4
CONFIGS = {
    "cleanup.policy": "delete",
    "retention.ms": str(6 * 3600_000),
    "segment.ms": str(600_000),
    "max.message.bytes": str(80 << 20),
    "compression.type": "producer",
}
FETCH_BYTES = 8 << 20


class Stage:
    """The staged output of one task, and its offsets."""

    def __init__(self, cluster: Cluster, task: int) -> None:
        ensure_topic(cluster, TOPIC, partitions=PARTITIONS, configs=CONFIGS)
        count = cluster.patiently(lambda: cluster.topics([TOPIC]))[TOPIC].partition_count
        self.place = TopicPartition(TOPIC, task % count)
        self.offsets: list[int] = []
        self._producer = IdempotentProducer(cluster, lambda _, offset: self.offsets.append(offset))

    def put(self, place: TopicPartition, batch: bytearray) -> None:
        record = NewRecord(json.dumps([place.topic, place.partition]).encode(), bytes(batch))
        self._producer.send(self.place, build_batch([record], timestamp=time.time_ns() // 1_000_000))

    def flush(self) -> None:
        self._producer.flush()


def staged(
    cluster: Cluster, place: TopicPartition, offsets: Sequence[int]
) -> Iterator[tuple[TopicPartition, bytearray]]:
    """The batches that a task has staged, in order."""
    waiting = list(reversed(offsets))
    while waiting:
        records = cluster.patiently(lambda: _fetch(cluster, place, waiting[-1]))
        before = len(waiting)
        for at, header in iter_headers(records):
            if waiting and header.base_offset == waiting[-1]:
                waiting.pop()
                (record,) = batch_records(records, header, at, limit=1 << 30)
                topic, partition = json.loads(record.key or b"")
                yield TopicPartition(topic, partition), bytearray(record.value or b"")
        if len(waiting) == before:
            raise DataLost(f"{place} at offset {waiting[-1]}: what a task has left there is gone; the batch runs again")


def _fetch(cluster: Cluster, place: TopicPartition, offset: int) -> memoryview:
    fetched = fetch_everything(cluster, place, offset, max_bytes=FETCH_BYTES)
    if fetched.error != ErrorCode.OFFSET_OUT_OF_RANGE:  # nothing is there: the caller says what that means
        check(fetched.error, str(place))
    return fetched.records
