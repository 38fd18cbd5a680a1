"""How far each job has come: a compacted topic with one record a job, written in the job's own transactions.

    key    the job's name
    value  JSON: what the job wants to find when it is started again

An entry is in the same transaction as the rows that it speaks of, so both are there or neither. Offsets of a consumer
group would do as well, but they expire.

Entries are not read with "committed records only": the last stable offset may be held back by the open transaction of
another job, and an entry behind it would be overlooked, its rows written twice. Instead all is read, and the markers
of transactions say what counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from penstock.bulk.topics import create_topic
from penstock.client.cluster import Cluster, check
from penstock.client.fetches import Fetched, receive_fetch, send_fetch
from penstock.client.offsets import bounds
from penstock.model.batch import BatchHeader, iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import parse_marker
from penstock.model.records import batch_records
from penstock.model.topic_partition import TopicPartition

LEDGER_TOPIC = "__penstock_jobs"
FETCH_BYTES = 1 << 20
_CONFIGS = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}

Entry = dict[str, Any]


class _Found(NamedTuple):
    offset: int
    value: bytes | None


class Ledger:
    def __init__(self, cluster: Cluster, topic: str = LEDGER_TOPIC) -> None:
        self._cluster = cluster
        self._place = TopicPartition(topic, 0)

    def prepare(self) -> None:
        """Make the topic if it is not there."""
        if not self._cluster.patiently(lambda: self._cluster.topics([self._place.topic])):
            create_topic(self._cluster, self._place.topic, 1, _CONFIGS)

    def record(self, job: str, entry: Mapping[str, Any]) -> tuple[TopicPartition, bytearray]:
        """What to send in the job's transaction."""
        value = json.dumps(entry, separators=(",", ":")).encode()
        return self._place, build_batch([NewRecord(job.encode(), value)], timestamp=time.time_ns() // 1_000_000)

    def read(self, job: str) -> Entry | None:
        """The last entry that was committed. No transaction of the job may be open: call it after its `init`."""
        key = job.encode()
        latest = _Found(-1, None)
        undecided: dict[tuple[int, int], _Found] = {}  # by producer and epoch
        for batch, header in self._batches():
            if header.is_control:
                marker = parse_marker(batch, header)
                if marker is None:
                    continue
                for epoch in (marker.producer_epoch, marker.producer_epoch - 1):  # KIP-890: it has the next one
                    found = undecided.pop((marker.producer_id, epoch), None)
                    if found is not None and marker.is_commit:
                        latest = max(latest, found)
                continue
            for record in batch_records(batch, header):
                if record.key == key:
                    undecided[header.producer_id, header.producer_epoch] = _Found(record.offset, record.value)
        # Compaction drops the marker of a commit after a while; that of an abort not before the records themselves.
        latest = max([latest, *undecided.values()])
        return None if latest.value is None else json.loads(latest.value)

    def _batches(self) -> Iterator[tuple[memoryview, BatchHeader]]:
        position, end = bounds(self._cluster, [self._place], committed=False)[self._place]
        while position < end:
            fetched = self._cluster.patiently(lambda at=position: self._fetch(at))  # type: ignore[misc]
            before = position
            for at, header in iter_headers(fetched.records):
                if header.last_offset >= position:
                    yield fetched.records[at : at + header.size_bytes], header
                    position = header.next_offset
            if position == before:  # compaction removed the rest
                return

    def _fetch(self, offset: int) -> Fetched:
        connection = self._cluster.leader(self._place)
        send_fetch(connection, self._place, offset, committed=False, max_bytes=FETCH_BYTES)
        fetched = receive_fetch(connection)
        check(fetched.error, str(self._place))
        return fetched
