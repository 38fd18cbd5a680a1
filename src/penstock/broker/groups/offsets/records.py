"""Offset commits as records of `__consumer_offsets`, in Kafka's own format.

    key    int16 version 0 or 1, group string, topic string, partition int32
    value  int16 version, then
           0  offset int64, metadata string, commit time int64
           1  … and expire time int64 (a retention the client asked for)
           2  as 0
           3  offset int64, leader epoch int32, metadata string, commit time int64
           4  as 3, flexible, with tag 0: topic id

Like Kafka 4.3, Penstock writes version 4, or 1 with an expire time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from struct import Struct
from typing import NamedTuple

from penstock.broker.coordination import record_primitives as wire
from penstock.broker.coordination.record_primitives import MalformedRecord, Reader
from penstock.broker.groups.record_kind import Data, RecordKind, value_version
from penstock.model.batch_builder import NewRecord
from penstock.model.ids import NO_EPOCH, NO_TIMESTAMP, NO_TOPIC_ID, TopicId

_KEY_HEAD = b"\x00\x01"
_V1 = Struct(">hq")
_V4 = Struct(">hqi")
_TIMES = Struct(">qq")
_COMMIT_TIME = Struct(">q")
_PARTITION = Struct(">i")
_TOPIC_ID_TAG = b"\x01\x00\x10"  # one tagged field, tag 0, 16 bytes
_NO_TAGS = b"\x00"


class OffsetKey(NamedTuple):
    group_id: str
    topic: str
    partition: int


class CommittedOffset(NamedTuple):
    """A committed offset. `expire_ms` is -1 unless an old client asked for a retention of its own."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int = NO_TIMESTAMP
    topic_id: TopicId = NO_TOPIC_ID


class OffsetChange(NamedTuple):
    """A commit, or with None a removal."""

    topic: str
    partition: int
    committed: CommittedOffset | None


def removals(places: Iterable[tuple[str, int]]) -> list[OffsetChange]:
    """Removals of the offsets at these places, of each once."""
    return [OffsetChange(topic, partition, None) for topic, partition in dict.fromkeys(places)]


def encode_key(key: OffsetKey) -> bytes:
    return _key_prefix(key.group_id, key.topic) + _PARTITION.pack(key.partition)


def _key_prefix(group_id: str, topic: str) -> bytes:
    return _KEY_HEAD + wire.string(group_id) + wire.string(topic)


def encode_offset(committed: CommittedOffset) -> bytes:
    if committed.expire_ms != NO_TIMESTAMP:
        return b"".join(
            (
                _V1.pack(1, committed.offset),
                wire.string(committed.metadata),
                _TIMES.pack(committed.commit_ms, committed.expire_ms),
            )
        )
    tail = _NO_TAGS if committed.topic_id == NO_TOPIC_ID else _TOPIC_ID_TAG + committed.topic_id.bytes
    metadata = wire.compact_string(committed.metadata) if committed.metadata else b"\x01"
    head = _V4.pack(4, committed.offset, committed.leader_epoch)
    return b"".join((head, metadata, _COMMIT_TIME.pack(committed.commit_ms), tail))


def decode_offset(value: Data) -> CommittedOffset:
    version = value_version(value, 4)
    reader = Reader(value, flexible=version >= 4)
    reader.int16()
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= 3 else NO_EPOCH
    metadata = reader.string()
    commit_ms = reader.int64()
    expire_ms = reader.int64() if version == 1 else NO_TIMESTAMP
    topic_id = reader.tagged_fields().get(0)
    if topic_id is not None and len(topic_id) != 16:
        raise MalformedRecord(f"a topic id of {len(topic_id)} bytes")
    known = NO_TOPIC_ID if topic_id is None else uuid.UUID(bytes=topic_id)
    return CommittedOffset(offset, leader_epoch, metadata, commit_ms, expire_ms, known)


OFFSET_COMMIT = RecordKind(
    name="offset commit",
    key_versions=(0, 1),
    decode_key=lambda reader: OffsetKey(reader.string(), reader.string(), reader.int32()),
    encode_key=encode_key,
    decode_value=decode_offset,
    encode_value=encode_offset,
)


def offset_records(group_id: str, changes: Iterable[OffsetChange]) -> list[NewRecord]:
    """Records of one commit; the partitions of a topic share the beginning of their keys."""
    prefixes: dict[str, bytes] = {}
    result = []
    for topic, partition, committed in changes:
        prefix = prefixes.get(topic)
        if prefix is None:
            prefix = prefixes[topic] = _key_prefix(group_id, topic)
        value = None if committed is None else encode_offset(committed)
        result.append(NewRecord(prefix + _PARTITION.pack(partition), value))
    return result
