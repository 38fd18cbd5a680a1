"""Hand-written Fetch: raw record batches of one partition, neither decoded nor copied."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from penstock.client.cluster import Cluster
from penstock.client.connection import Connection, UnderWay
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import FETCH
from penstock.protocol.kafka.primitives import INT16, INT32

FETCH_VERSION = 11  # the last one without compact lengths: every field of an answer is at a known position
_LIMITS = Struct(">iiiibii")
_PARTITION = Struct(">iiqqi")
_ANSWER = Struct(">iihii")  # correlation id, throttle time, error, session, topics
_STATE = Struct(">iihqqqi")  # partitions, index, error, high watermark, last stable offset, log start, aborted
_ABORTED = Struct(">qq")


class Aborted(NamedTuple):
    """A producer whose batches from an offset on, up to its next marker, were aborted."""

    producer_id: int
    first_offset: int


class Fetched(NamedTuple):
    error: int
    high_watermark: int
    last_stable: int
    log_start: int
    aborted: tuple[Aborted, ...]
    records: memoryview
    """Complete batches; only the last may be cut off."""
    throttled_ms: int = 0
    """More than 0 if a quota is used up: there are no records, and this is the time after which to ask again."""


def send_fetch(
    connection: Connection,
    place: TopicPartition,
    offset: int,
    *,
    committed: bool,
    max_bytes: int,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
) -> UnderWay:
    """Ask for records from `offset` on; `receive_fetch` returns them."""
    name = place.topic.encode()
    return connection.send(
        FETCH,
        FETCH_VERSION,
        _LIMITS.pack(-1, max_wait_ms, min_bytes, max_bytes, committed, 0, -1)
        + INT32.pack(1) + INT16.pack(len(name)) + name
        + INT32.pack(1) + _PARTITION.pack(place.partition, -1, offset, -1, max_bytes)
        + INT32.pack(0) + INT16.pack(0),
        flexible=False,
    )  # fmt: skip


def fetch_everything(
    cluster: Cluster, place: TopicPartition, offset: int, *, max_bytes: int, min_bytes: int = 1
) -> Fetched:
    """Everything from `offset` on, committed or not, from the leader; the caller checks the error of the answer."""
    leader = cluster.leader(place)
    sent = send_fetch(leader, place, offset, committed=False, max_bytes=max_bytes, min_bytes=min_bytes)
    fetched = receive_fetch(sent)
    if fetched.throttled_ms:
        raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{place}: the quota of this client is used up")
    return fetched


def receive_fetch(sent: UnderWay) -> Fetched:
    answer = sent.answer()
    _, throttle_ms, error, _, topics = _ANSWER.unpack_from(answer)
    if error or not topics:
        return Fetched(error, -1, -1, -1, (), answer[:0], 0 if error else max(1, throttle_ms))
    (name_size,) = INT16.unpack_from(answer, _ANSWER.size)
    position = _ANSWER.size + INT16.size + name_size
    _, _, error, high_watermark, last_stable, log_start, aborted_count = _STATE.unpack_from(answer, position)
    position += _STATE.size
    aborted = []
    for _ in range(max(0, aborted_count)):
        aborted.append(Aborted(*_ABORTED.unpack_from(answer, position)))
        position += _ABORTED.size
    position += INT32.size  # preferred replica
    (size,) = INT32.unpack_from(answer, position)
    position += INT32.size
    records = answer[position : position + max(0, size)]
    return Fetched(error, high_watermark, last_stable, log_start, tuple(aborted), records)
