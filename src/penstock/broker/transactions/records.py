"""The records of `__transaction_state`, in Kafka's own format, so that Kafka's tools can read them.

    key    int16 version 0, transactional id string
    value  int16 version, then (a null value is a tombstone)
           0, 1  producer id int64, epoch int16, timeout int32, state int8, partitions, last update int64, start int64
                 partitions: an array, null in EMPTY, of topic string, [partition int32]
           1     flexible, with tags 0: previous producer id int64, 1: next producer id int64,
                 2: client transaction version int16, 3: next producer epoch int16

Kafka 4.3 writes version 1 where `transaction.version` is above 0; so do we.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from penstock.broker.coordination import record_primitives as wire
from penstock.broker.coordination.record_primitives import INT16, INT32, INT64, MalformedRecord, Reader
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import NO_PRODUCER_ID, Transaction
from penstock.model.topic_partition import TopicPartition

_KEY_VERSION = 0
_VALUE_VERSION = 1
_PREVIOUS_ID, _NEXT_ID, _CLIENT_VERSION = 0, 1, 2


def encode_key(transactional_id: str) -> bytes:
    return INT16.pack(_KEY_VERSION) + wire.string(transactional_id)


def decode_key(key: bytes | memoryview) -> str | None:
    """The transactional id; None for an unknown kind of record."""
    reader = Reader(key)
    return reader.string() if reader.int16() == _KEY_VERSION else None


def encode_value(transaction: Transaction) -> bytes:
    parts = [
        INT16.pack(_VALUE_VERSION),
        INT64.pack(transaction.producer_id),
        INT16.pack(transaction.epoch),
        INT32.pack(transaction.timeout_ms),
        bytes((transaction.state,)),
        _encode_partitions(transaction),
        INT64.pack(transaction.update_ms),
        INT64.pack(transaction.start_ms),
        _encode_tags(transaction),
    ]
    return b"".join(parts)


def _encode_partitions(transaction: Transaction) -> bytes:
    if transaction.state is TransactionState.EMPTY:
        return wire.unsigned_varint(0)
    topics = _by_topic(transaction.partitions)
    out = bytearray(wire.unsigned_varint(len(topics) + 1))
    for topic, indexes in topics.items():
        out += wire.compact_string(topic) + wire.unsigned_varint(len(indexes) + 1)
        out += struct.pack(f">{len(indexes)}i", *indexes) + b"\0"
    return bytes(out)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return {topic: sorted(topics[topic]) for topic in sorted(topics)}


def _encode_tags(transaction: Transaction) -> bytes:
    """Encode tagged fields; as in Kafka, those with their default value are left out."""
    tags = []
    if transaction.previous_producer_id != NO_PRODUCER_ID:
        tags.append((_PREVIOUS_ID, INT64.pack(transaction.previous_producer_id)))
    if transaction.next_producer_id != NO_PRODUCER_ID:
        tags.append((_NEXT_ID, INT64.pack(transaction.next_producer_id)))
    if transaction.version:
        tags.append((_CLIENT_VERSION, INT16.pack(transaction.version)))
    return wire.unsigned_varint(len(tags)) + b"".join(
        wire.unsigned_varint(tag) + wire.unsigned_varint(len(data)) + data for tag, data in tags
    )


def decode_value(transactional_id: str, value: bytes | memoryview) -> Transaction:
    version = Reader(value).int16()
    if not 0 <= version <= _VALUE_VERSION:
        raise MalformedRecord(f"version {version} is not one of 0 to {_VALUE_VERSION}")
    reader = Reader(value, flexible=version >= 1)
    reader.int16()
    producer_id, epoch, timeout_ms = reader.int64(), reader.int16(), reader.int32()
    number = reader.raw(1)[0]
    if number not in TransactionState._value2member_map_:
        raise MalformedRecord(f"state {number}")
    partitions = _decode_partitions(reader)
    update_ms, start_ms = reader.int64(), reader.int64()
    tags = reader.tagged_fields()
    return Transaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        epoch=epoch,
        previous_producer_id=_number(tags, _PREVIOUS_ID, 8),
        next_producer_id=_number(tags, _NEXT_ID, 8),
        timeout_ms=timeout_ms,
        state=TransactionState(number),
        partitions=partitions,
        start_ms=start_ms,
        update_ms=update_ms,
        version=max(_number(tags, _CLIENT_VERSION, 2), 0),
    )


def _number(tags: dict[int, bytes], tag: int, size: int) -> int:
    data = tags.get(tag)
    if data is None:
        return -1
    if len(data) != size:
        raise MalformedRecord(f"{len(data)} bytes in tagged field {tag}")
    return int.from_bytes(data, "big", signed=True)


def _decode_partitions(reader: Reader) -> frozenset[TopicPartition]:
    partitions: set[TopicPartition] = set()
    for _ in range(reader.nullable_count()):
        topic = reader.string()
        partitions.update(TopicPartition(topic, reader.int32()) for _ in range(reader.count()))
        reader.tagged_fields()
    return frozenset(partitions)
