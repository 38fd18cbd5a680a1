"""Fetch by hand, the other hot path: record data goes from the segment to the socket without being looked at.

request    v4+   (replica id, up to v14) max wait, min bytes, max bytes, isolation,
                 session id and epoch (v7+), [topic: name or id (v13+), [partition: index, leader epoch (v9+),
                 fetch offset, last fetched epoch (v12+), log start (v5+), max bytes]],
                 forgotten topics (v7+), rack (v11+)
response   throttle, error and session id (v7+), [topic, [partition: index, error, high watermark, last stable,
                 log start (v5+), aborted transactions [producer id, first offset], preferred replica (v11+), records]]
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, error
from typing import NamedTuple

from penstock.model.limits import REQUEST_ELEMENTS_MAX, TAGGED_FIELDS_MAX
from penstock.protocol.kafka.primitives import (
    INT16,
    INT32,
    INT64,
    Buffer,
    MalformedRequest,
    Sendable,
    read_count,
    read_string,
    skip_tagged_fields,
    take,
    write_count,
    write_string,
    write_unsigned_varint,
)
from penstock.protocol.kafka.topic_key import TopicKey, by_topic

FLEXIBLE = 12
TOPIC_IDS = 13
READ_COMMITTED = 1
ISOLATION_LEVELS = (0, READ_COMMITTED)

_DIRECTORY, _HIGH_WATERMARK = {0: 16}, {1: 8}  # tags of a partition: what followers say
_TAG_SIZES = {17: _DIRECTORY, 18: _DIRECTORY | _HIGH_WATERMARK}
_LIMITS = Struct(">iiib")
_SESSION = Struct(">ii")
_WATERMARKS = Struct(">ihqq")
_ABORTED = Struct(">qq")
_TOO_MANY = f"Fetch: more than {REQUEST_ELEMENTS_MAX} elements in arrays"


class FetchPartition(NamedTuple):
    topic: TopicKey
    partition: int
    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    max_bytes: int


class FetchRequest(NamedTuple):
    replica_id: int  # -1: a consumer
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: int
    session_id: int
    session_epoch: int
    partitions: list[FetchPartition]
    forgotten: list[tuple[TopicKey, int]]
    rack: str


class FetchedPartition(NamedTuple):
    """One partition of the answer. The `records` are sent as they are, one part after the other; none is empty."""

    topic: TopicKey
    partition: int
    error: int
    high_watermark: int
    last_stable: int
    log_start: int
    records: Sequence[Buffer | Sendable] = ()
    size: int = 0  # of the records, in bytes
    aborted: Sequence[tuple[int, int]] | None = None  # producer ids and first offsets; null unless read_committed
    diverging_epoch: tuple[int, int] | None = None  # (epoch, end offset), v12+


def decode(frame: memoryview, position: int, version: int) -> FetchRequest:
    try:
        return _decode(frame, position, version)
    except (IndexError, error, UnicodeDecodeError) as problem:
        raise MalformedRequest(f"Fetch v{version}: {problem}") from None


def _decode(frame: memoryview, position: int, version: int) -> FetchRequest:
    flexible = version >= FLEXIBLE
    replica_id = -1
    if version <= 14:  # later versions have it in a tagged field, which only brokers set
        (replica_id,) = INT32.unpack_from(frame, position)
        position += 4
    max_wait_ms, min_bytes, max_bytes, isolation = _LIMITS.unpack_from(frame, position)
    position += _LIMITS.size
    session_id, session_epoch = 0, -1
    if version >= 7:
        session_id, session_epoch = _SESSION.unpack_from(frame, position)
        position += _SESSION.size
    tags = [TAGGED_FIELDS_MAX]
    partitions: list[FetchPartition] = []
    topic_count, position = read_count(frame, position, flexible)
    room = REQUEST_ELEMENTS_MAX - topic_count
    for _ in range(topic_count):
        topic, position = _topic(frame, position, version)
        partition_count, position = read_count(frame, position, flexible)
        room -= partition_count
        if room < 0:
            raise MalformedRequest(_TOO_MANY)
        for _ in range(partition_count):
            item, position = _partition(frame, position, version, topic, tags)
            partitions.append(item)
        if flexible:
            position = skip_tagged_fields(frame, position, tags)
    forgotten: list[tuple[TopicKey, int]] = []
    if version >= 7:
        topic_count, position = read_count(frame, position, flexible)
        room -= topic_count
        for _ in range(topic_count):
            topic, position = _topic(frame, position, version)
            partition_count, position = read_count(frame, position, flexible)
            room -= partition_count
            if room < 0:
                raise MalformedRequest(_TOO_MANY)
            for _ in range(partition_count):
                forgotten.append((topic, INT32.unpack_from(frame, position)[0]))
                position += 4
            if flexible:
                position = skip_tagged_fields(frame, position, tags)
    rack: str | None = ""
    if version >= 11:
        rack, position = read_string(frame, position, flexible)
    if flexible:
        skip_tagged_fields(frame, position, tags)
    return FetchRequest(
        replica_id,
        max_wait_ms,
        min_bytes,
        max_bytes,
        isolation,
        session_id,
        session_epoch,
        partitions,
        forgotten,
        rack or "",
    )


def _topic(frame: memoryview, position: int, version: int) -> tuple[TopicKey, int]:
    if version >= TOPIC_IDS:
        return bytes(take(frame, position, 16)), position + 16
    topic, position = read_string(frame, position, version >= FLEXIBLE)
    if topic is None:
        raise MalformedRequest("Fetch: a topic without a name")
    return topic, position


def _partition(
    frame: memoryview, position: int, version: int, topic: TopicKey, tags: list[int]
) -> tuple[FetchPartition, int]:
    (index,) = INT32.unpack_from(frame, position)
    position += 4
    leader_epoch, last_fetched_epoch = -1, -1
    if version >= 9:
        (leader_epoch,) = INT32.unpack_from(frame, position)
        position += 4
    (fetch_offset,) = INT64.unpack_from(frame, position)
    position += 8
    if version >= FLEXIBLE:
        (last_fetched_epoch,) = INT32.unpack_from(frame, position)
        position += 4
    if version >= 5:
        position += 8  # a follower's log start
    (max_bytes,) = INT32.unpack_from(frame, position)
    position += 4
    if version >= FLEXIBLE:
        position = skip_tagged_fields(frame, position, tags, _TAG_SIZES.get(version, {}))
    return FetchPartition(topic, index, leader_epoch, fetch_offset, last_fetched_epoch, max_bytes), position


def encode_response(
    partitions: list[FetchedPartition], version: int, *, error_code: int = 0, session_id: int = 0
) -> list[Buffer | Sendable]:
    """The body of the answer as a list of buffers: small headers of ours between record data that is not copied."""
    flexible = version >= FLEXIBLE
    end = b"\0" if flexible else b""
    out: list[Buffer | Sendable] = []
    head = bytearray(INT32.pack(0))  # throttle time
    if version >= 7:
        head += INT16.pack(error_code) + INT32.pack(session_id)
    groups = by_topic(partitions)
    head += write_count(len(groups), flexible)
    for topic, rows in groups:
        head += topic if isinstance(topic, bytes) else write_string(topic, flexible)
        head += write_count(len(rows), flexible)
        for row in rows:
            _encode_partition(head, row, version)
            head += write_unsigned_varint(row.size + 1) if flexible else INT32.pack(row.size)
            if row.size:
                out.append(head)
                out += row.records
                head = bytearray()
            head += _tagged(row) if flexible else b""
        head += end
    head += end
    out.append(head)
    return out


def _encode_partition(head: bytearray, row: FetchedPartition, version: int) -> None:
    head += _WATERMARKS.pack(row.partition, row.error, row.high_watermark, row.last_stable)
    if version >= 5:
        head += INT64.pack(row.log_start)
    if not row.aborted:
        absent, empty = (b"\0", b"\1") if version >= FLEXIBLE else (b"\xff\xff\xff\xff", b"\0\0\0\0")
        head += absent if row.aborted is None else empty
    else:
        _encode_aborted(head, row.aborted, version >= FLEXIBLE)
    if version >= 11:
        head += b"\xff\xff\xff\xff"  # no preferred read replica


def _encode_aborted(head: bytearray, aborted: Sequence[tuple[int, int]], flexible: bool) -> None:
    head += write_count(len(aborted), flexible)
    end = b"\0" if flexible else b""
    for item in aborted:
        head += _ABORTED.pack(*item) + end


def _tagged(row: FetchedPartition) -> bytes:
    if row.diverging_epoch is None:
        return b"\0"
    epoch, end_offset = row.diverging_epoch
    body = INT32.pack(epoch) + INT64.pack(end_offset) + b"\0"
    return b"\1\0" + write_unsigned_varint(len(body)) + body
