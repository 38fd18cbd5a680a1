"""Produce by hand, because it is the hot path: no object per field, batches as views into the frame.

request    v3-8   transactional id, acks, timeout, [topic: name, [partition: index, records]]
           v9-12  the same, compact;  v13 topic id instead of the name
response   [topic: name or id, [partition: index, error, base offset, append time,
           log start (v5+), record errors (v8+), message (v8+)]], throttle time
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from penstock.model.limits import REQUEST_ELEMENTS_MAX, TAGGED_FIELDS_MAX
from penstock.protocol.kafka.primitives import (
    INT32,
    INT64,
    MalformedRequest,
    read_count,
    read_string,
    read_unsigned_varint,
    skip_tagged_fields,
    take,
    write_count,
    write_string,
)
from penstock.protocol.kafka.topic_key import TopicKey, by_topic

FLEXIBLE = 9
TOPIC_IDS = 13

_ACKS_TIMEOUT = Struct(">hi")
_RESULT = Struct(">ihqq")
RESULT_BYTES = _RESULT.size
"""The least that a partition has in an answer."""


class PartitionData(NamedTuple):
    topic: TopicKey
    partition: int
    records: memoryview | None


class ProduceRequest(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    partitions: list[PartitionData]  # those of a topic are adjacent


class RecordError(NamedTuple):
    record_index: int
    message: str | None


class PartitionResult(NamedTuple):
    topic: TopicKey
    partition: int
    error: int
    base_offset: int
    append_time_ms: int
    log_start: int
    record_errors: tuple[RecordError, ...] = ()
    message: str | None = None


class WideRequest(Exception):
    """A request with more topics or partitions than are decoded at once."""


def decode(
    frame: memoryview, position: int, version: int, partitions_max: int = REQUEST_ELEMENTS_MAX
) -> ProduceRequest:
    """Parse the body that starts at `position`; record data stays in the frame. WideRequest above `partitions_max`."""
    try:
        return _decode(frame, position, version >= FLEXIBLE, version >= TOPIC_IDS, partitions_max)
    except (IndexError, error, UnicodeDecodeError) as problem:
        raise MalformedRequest(f"Produce v{version}: {problem}") from None


def _decode(frame: memoryview, position: int, flexible: bool, by_id: bool, partitions_max: int) -> ProduceRequest:
    transactional_id, position = read_string(frame, position, flexible)
    acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(frame, position)
    topic_count, position = read_count(frame, position + 6, flexible)
    if topic_count > partitions_max:  # some of them may have no partitions
        raise WideRequest
    partitions: list[PartitionData] = []
    tags = [TAGGED_FIELDS_MAX]
    for _ in range(topic_count):
        topic: TopicKey | None
        if by_id:
            topic, position = bytes(take(frame, position, 16)), position + 16
        else:
            topic, position = read_string(frame, position, flexible)
        if topic is None:
            raise MalformedRequest("Produce: a topic without a name")
        partition_count, position = read_count(frame, position, flexible)
        if len(partitions) + partition_count > partitions_max:
            raise WideRequest
        for _ in range(partition_count):
            (index,) = INT32.unpack_from(frame, position)
            if flexible:
                size, position = read_unsigned_varint(frame, position + 4)
                size -= 1
            else:
                (size,) = INT32.unpack_from(frame, position + 4)
                position += 8
            if size < 0:
                partitions.append(PartitionData(topic, index, None))
            else:
                partitions.append(PartitionData(topic, index, take(frame, position, size)))
                position += size
            if flexible:
                position = skip_tagged_fields(frame, position, tags)
        if flexible:
            position = skip_tagged_fields(frame, position, tags)
    if flexible:
        skip_tagged_fields(frame, position, tags)
    return ProduceRequest(transactional_id, acks, timeout_ms, partitions)


def encode_response(results: list[PartitionResult], version: int, throttle_ms: int = 0) -> bytearray:
    """The body of the answer."""
    flexible = version >= FLEXIBLE
    end = b"\0" if flexible else b""  # no tagged fields
    groups = by_topic(results)
    out = bytearray(write_count(len(groups), flexible))
    for topic, rows in groups:
        out += topic if isinstance(topic, bytes) else write_string(topic, flexible)
        out += write_count(len(rows), flexible)
        for row in rows:
            out += _RESULT.pack(row.partition, row.error, row.base_offset, row.append_time_ms)
            if version >= 5:
                out += INT64.pack(row.log_start)
            if version >= 8:
                out += _record_errors(row, flexible)
            out += end
        out += end
    out += INT32.pack(throttle_ms)
    out += end
    return out


def _record_errors(row: PartitionResult, flexible: bool) -> bytes:
    if not row.record_errors and row.message is None:
        return b"\1\0" if flexible else b"\0\0\0\0\xff\xff"
    out = bytearray(write_count(len(row.record_errors), flexible))
    for item in row.record_errors:
        out += INT32.pack(item.record_index) + write_string(item.message, flexible)
        if flexible:
            out += b"\0"
    return bytes(out + write_string(row.message, flexible))
