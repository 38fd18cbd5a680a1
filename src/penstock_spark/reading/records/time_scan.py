"""The oldest time of each batch in a range, and nothing else of its records."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.client.cluster import Cluster
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.records.batches import DamagedBatch, RecordBatch
from penstock_spark.reading.records.range_reader import RangeReader
from penstock_spark.reading.records.time_kernel import least_time_delta


def least_times(
    cluster: Cluster, place: TopicPartition, first: int, end: int, *, committed: bool
) -> Iterator[tuple[int, int | None]]:
    """(next offset, oldest time) of each batch in order, at last `end` without a time; up to the first damaged one.

    Nothing is waited for: HeldBack if a transaction is open.
    """
    reader = RangeReader(cluster, place, first, end, ("timestamp",), committed=committed)
    reader.transaction_wait.limit_s = 0.0
    for batch in reader.batches_found():
        least_ms = None if isinstance(batch, DamagedBatch) else _least_time(batch)
        if least_ms is None or isinstance(batch, DamagedBatch):
            return
        yield batch.header.next_offset, least_ms
    yield end, None


def _least_time(batch: RecordBatch) -> int | None:
    """None if a record cannot be decoded."""
    header = batch.header
    if header.is_log_append_time:
        return header.max_timestamp
    delta, right = least_time_delta(batch.payload, header.record_count)
    return header.base_timestamp + int(delta) if right == header.record_count else None
