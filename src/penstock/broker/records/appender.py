"""The one way of clients' records into a partition: refused, appended, timed and counted in one place.

Kafka's Produce, long way and repeat path, PUBLISH with and without a sequence, the admin API, the test endpoints and
dead letters all end here. Coordinators append their own records past it (`Partition.append_trusted`).
"""

from __future__ import annotations

from time import perf_counter

from penstock.cluster.mirrors import read_only
from penstock.cluster.partition import Partition
from penstock.cluster.topics import TopicTable
from penstock.model.batch import BatchHeader
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TIMESTAMP
from penstock.model.timestamps import BadTimestamps
from penstock.observability.metrics import BrokerMetrics
from penstock.storage.interface import Appended, LogConfig


class RecordAppender:
    """One for all doors."""

    __slots__ = ("_metrics", "_topics")

    def __init__(self, topics: TopicTable, metrics: BrokerMetrics) -> None:
        self._topics = topics
        self._metrics = metrics

    def check_writable(self, partition: Partition) -> None:
        """KafkaError if no client may write to this partition, whatever its rights."""
        if partition.internal or partition.mirror:
            self.check_topic(partition.topic, internal=partition.internal, mirror=partition.mirror)

    def check_topic(self, name: str, *, internal: bool, mirror: bool) -> None:
        """The same for a topic, which may not exist yet."""
        if internal:
            text = f"{name} is an internal topic; clients may not write to it"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
        if mirror:
            raise read_only(name, self._topics.parent)

    def append(self, partition: Partition, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        """Append a checked batch to a writable partition. KafkaError if the partition refuses it."""
        started = perf_counter()
        appended = partition.append(batch, header, now_ms)
        if not appended.duplicate:
            self._metrics.produced(header.record_count, len(batch), perf_counter() - started)
        return appended


def check_key(record: NewRecord, config: LogConfig) -> None:
    """KafkaError for a record without a key where compaction needs one."""
    if record.key is None and config.cleanup_compact:
        raise KafkaError(ErrorCode.INVALID_RECORD, "the topic is compacted and takes no message without a key")


def check_time(record: NewRecord, config: LogConfig, now_ms: int) -> None:
    """KafkaError for a record with a time that the log refuses, and every other record of its batch with it."""
    timestamp = record.timestamp
    if timestamp is None or timestamp == NO_TIMESTAMP or config.log_append_time:
        return
    earliest, latest = now_ms - config.timestamp_before_max_ms, now_ms + config.timestamp_after_max_ms
    if not earliest <= timestamp <= latest:
        raise BadTimestamps(earliest, latest)
