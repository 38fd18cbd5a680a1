"""The oldest time of each batch in a range, and nothing else of its records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.client.answer_error import check
from penstock.client.cluster import Cluster
from penstock.client.fetches import receive_fetch, send_fetch
from penstock.model.topic_partition import TopicPartition
from penstock_spark.reading.planning.least_times import Seen, Stretch
from penstock_spark.reading.records.batches import Batches, DamagedBatch, RecordBatch
from penstock_spark.reading.records.time_kernel import least_time_delta

FETCH_BYTES: Final = 1 << 20
WAIT_MS: Final = 10


def least_times(cluster: Cluster, place: TopicPartition, first: int, end: int, *, committed: bool) -> Iterator[Stretch]:
    """Each batch in order, and at last what is empty before `end`; up to one that is damaged, held back or not there.

    Whoever stops early leaves nothing under way.
    """
    batches = Batches(place, first, end)
    while not batches.is_done:
        leader = cluster.leader(place)
        sent = send_fetch(
            leader, place, batches.position, committed=committed, max_bytes=FETCH_BYTES, max_wait_ms=WAIT_MS
        )
        fetched = receive_fetch(sent)
        check(fetched.error, str(place))
        if fetched.throttled_ms or not len(fetched.records):
            return
        for batch in batches.take(fetched):
            if isinstance(batch, DamagedBatch):
                return
            least_ms = _least_time(batch)
            if least_ms is None:
                return
            yield Stretch(batch.header.next_offset, least_ms, Seen(batch.header.base_offset, batch.header.crc))
    yield Stretch(end)


def _least_time(batch: RecordBatch) -> int | None:
    """None if a record cannot be decoded."""
    header = batch.header
    if header.is_log_append_time:
        return header.max_timestamp
    delta, right = least_time_delta(batch.payload, header.record_count)
    return header.base_timestamp + int(delta) if right == header.record_count else None
