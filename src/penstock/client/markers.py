"""Markers of finished work by name, in a compacted topic, written in the same transaction as the work itself.

A program that starts again after a crash reads the marker of its name and knows whether its last work took effect.
Committed offsets of a group would be simpler, but they expire.

Markers are read without waiting for the last stable offset: the open transaction of another name would hide them.
Whether a marker counts is decided by the control batch of its producer that follows it. A name's own transactions have
all ended by then, since its producer is initialised before.

Each name has a hint, stored as the offset of a group of the same name: it is enough to read from there. Without the
hint, the topic is read from its start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.client.answer_error import check
from penstock.client.cluster import Cluster
from penstock.client.fetches import fetch_everything
from penstock.client.offsets import EARLIEST, LATEST, commit_offsets, committed_offsets, list_offsets
from penstock.client.topics import ensure_topic
from penstock.client.transactions import TransactionalProducer
from penstock.model.batch import BatchHeader, iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import parse_marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.records import batch_records
from penstock.model.topic_partition import TopicPartition

TOPIC = "__penstock_markers"
CONFIGS = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.bytes": str(4 << 20),
    "compression.type": "producer",
}
FETCH_BYTES = 4 << 20
HINT_AFTER = 200
"""Number of batches read before a marker from which on its place is stored as a hint."""
_MARKER_BYTES_MAX = 1 << 20


class Found(NamedTuple):
    """A marker, and where it is."""

    content: dict[str, Any]
    offset: int


class Markers:
    def __init__(self, cluster: Cluster, topic: str = TOPIC) -> None:
        self._cluster = cluster
        self.place = TopicPartition(topic, 0)

    def batch(self, name: str, content: dict[str, Any], now_ms: int) -> bytearray:
        """The batch with a marker, to be sent in the transaction that it describes."""
        value = json.dumps(content, separators=(",", ":")).encode()
        return build_batch([NewRecord(name.encode(), value)], timestamp=now_ms)

    def begin(self, producer: TransactionalProducer) -> Found | None:
        """Initialise the producer of a name, and return the last marker of that name.

        No transaction of the name may be open when markers are read, and none that a broker has left open, either.
        """
        producer.init()
        ensure_topic(self._cluster, self.place.topic, partitions=1, configs=CONFIGS)
        producer.check_topic(self.place.topic)
        return self._latest(producer.transactional_id)

    def _latest(self, name: str) -> Found | None:
        first = self._hint(name)
        found, read = _Search(name), 0
        for batch, header in self._batches(first):
            found.see(batch, header)
            read += 1
        if found.marker is not None and read >= HINT_AFTER:
            self._leave_hint(name, found.marker.offset)
        return found.marker

    def _hint(self, name: str) -> int:
        start = list_offsets(self._cluster, {self.place: EARLIEST}, committed=False)[self.place]
        try:
            return max(start, committed_offsets(self._cluster, _hint_group(name)).get(self.place, start))
        except KafkaError as error:
            _check_only_denied(error)
            return start

    def _leave_hint(self, name: str, offset: int) -> None:
        try:
            commit_offsets(self._cluster, _hint_group(name), {self.place: offset})
        except KafkaError as error:
            _check_only_denied(error)

    def _batches(self, position: int) -> Iterator[tuple[memoryview, BatchHeader]]:
        end = list_offsets(self._cluster, {self.place: LATEST}, committed=False)[self.place]
        while position < end:
            records = self._cluster.patiently(lambda at=position: self._fetch(at))  # type: ignore[misc]
            found = False
            for at, header in iter_headers(records):
                if header.next_offset <= position:
                    continue
                yield records[at : at + header.size_bytes], header
                position, found = header.next_offset, True
            if not found:
                return

    def _fetch(self, position: int) -> memoryview:
        fetched = fetch_everything(self._cluster, self.place, position, max_bytes=FETCH_BYTES, min_bytes=0)
        check(fetched.error, str(self.place))
        return fetched.records


class _Search:
    """The search for the last marker of one name, batch by batch."""

    def __init__(self, name: str) -> None:
        self._key = name.encode()
        self._open: dict[int, Found] = {}  # by producer
        self.marker: Found | None = None

    def see(self, batch: memoryview, header: BatchHeader) -> None:
        if header.is_control:
            candidate = self._open.pop(header.producer_id, None)
            if candidate is not None:
                ended = parse_marker(batch, header)
                if ended is not None and ended.is_commit:
                    self.marker = candidate
            return
        if self._key not in memoryview(batch).tobytes():
            return
        for record in batch_records(batch, header, limit=_MARKER_BYTES_MAX):
            if record.key == self._key and record.value is not None:
                content = Found(json.loads(record.value), header.base_offset)
                if header.is_transactional:
                    self._open[header.producer_id] = content
                else:
                    self.marker = content


def _check_only_denied(error: KafkaError) -> None:
    """Hints only save time: a client without rights of the group does without them."""
    if error.code is not ErrorCode.GROUP_AUTHORIZATION_FAILED:
        raise error


def _hint_group(name: str) -> str:
    return f"penstock-marker-{name}"
