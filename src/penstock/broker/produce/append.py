"""The one way of a client's batch into a partition: timed and counted."""

from __future__ import annotations

from time import perf_counter

from penstock.broker.broker import Broker
from penstock.cluster.partition import Partition
from penstock.model.batch import BatchHeader
from penstock.storage.interface import Appended


def append_batch(
    broker: Broker, partition: Partition, batch: bytearray | memoryview, header: BatchHeader, now_ms: int
) -> Appended:
    """Append a batch that was checked. KafkaError if the partition refuses it."""
    started = perf_counter()
    appended = partition.append(batch, header, now_ms)
    if not appended.duplicate:
        size = len(batch)
        broker.metrics.appended(perf_counter() - started, size)
        broker.metrics.produced(header.record_count, size)
    return appended
