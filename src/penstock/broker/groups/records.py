"""The records of `__consumer_offsets`, in Kafka's own format, so that Kafka's tools read ours and we read Kafka's.

    key    int16 version, then
           0, 1  offset commit     group string, topic string, partition int32
           2     group metadata    group string
    value  int16 version, then (a null value is a tombstone)
           offset commit  0  offset int64, metadata string, commit time int64
                          1  … and expire time int64 (a retention the client asked for)
                          2  as 0
                          3  offset int64, leader epoch int32, metadata string, commit time int64
                          4  as 3, flexible, with tag 0: topic id
           group metadata 0  protocol type string, generation int32, protocol string?, leader string?, members
                          2  … state time int64 before the members
                          4  as 3, flexible
             member       0  id, client id, client host strings, session timeout int32, subscription, assignment bytes
                          1  … rebalance timeout int32 before the session timeout
                          3  … group instance id string? after the id

Kafka 4.3 writes version 4 of offset commits (1 with an expire time) and version 3 of group metadata; so do we.
Other keys (KIP-848, share and streams groups) are not ours to understand: `decode_key` says None.
"""

from __future__ import annotations

import uuid
from struct import Struct
from typing import NamedTuple

from penstock.broker.coordination import record_primitives as wire
from penstock.broker.coordination.record_primitives import INT16, MalformedRecord, Reader
from penstock.model.ids import NO_EPOCH, NO_TIMESTAMP, NO_TOPIC_ID, TopicId

KEY_STRING_BYTES_MAX = 0x7FFF  # what an int16 length can say: group ids, topics, member and protocol names

_OFFSET_KEY_HEAD = b"\x00\x01"
_GROUP_KEY_HEAD = b"\x00\x02"
_OFFSET_V1 = Struct(">hq")
_OFFSET_V4 = Struct(">hqi")
_TIMES = Struct(">qq")
_COMMIT_TIME = Struct(">q")
_PARTITION = Struct(">i")
_TOPIC_ID_TAG = b"\x01\x00\x10"  # one tagged field, tag 0, 16 bytes
_NO_TAGS = b"\x00"


class OffsetKey(NamedTuple):
    group_id: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    group_id: str


class CommittedOffset(NamedTuple):
    """A committed offset. `expire_ms` is -1 unless an old client asked for a retention of its own."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int = NO_TIMESTAMP
    topic_id: TopicId = NO_TOPIC_ID


class MemberValue(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class GroupValue(NamedTuple):
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_ms: int  # wall clock of the last change of state, -1 if unknown
    members: tuple[MemberValue, ...]


def offset_key_prefix(group_id: str, topic: str) -> bytes:
    """Everything of an offset key but the partition: shared by the partitions of one commit."""
    return _OFFSET_KEY_HEAD + wire.string(group_id) + wire.string(topic)


def offset_key(prefix: bytes, partition: int) -> bytes:
    return prefix + _PARTITION.pack(partition)


def group_key(group_id: str) -> bytes:
    return _GROUP_KEY_HEAD + wire.string(group_id)


def encode_offset(committed: CommittedOffset) -> bytes:
    if committed.expire_ms != NO_TIMESTAMP:
        return b"".join(
            (
                _OFFSET_V1.pack(1, committed.offset),
                wire.string(committed.metadata),
                _TIMES.pack(committed.commit_ms, committed.expire_ms),
            )
        )
    tail = _NO_TAGS if committed.topic_id == NO_TOPIC_ID else _TOPIC_ID_TAG + committed.topic_id.bytes
    metadata = wire.compact_string(committed.metadata) if committed.metadata else b"\x01"
    head = _OFFSET_V4.pack(4, committed.offset, committed.leader_epoch)
    return b"".join((head, metadata, _COMMIT_TIME.pack(committed.commit_ms), tail))


def encode_group(value: GroupValue) -> bytes:
    parts = [
        INT16.pack(3),
        wire.string(value.protocol_type),
        wire.INT32.pack(value.generation),
        wire.nullable_string(value.protocol),
        wire.nullable_string(value.leader),
        wire.INT64.pack(value.state_ms),
        wire.INT32.pack(len(value.members)),
    ]
    for member in value.members:
        parts += (
            wire.string(member.member_id),
            wire.nullable_string(member.instance_id),
            wire.string(member.client_id),
            wire.string(member.client_host),
            wire.INT32.pack(member.rebalance_timeout_ms),
            wire.INT32.pack(member.session_timeout_ms),
            wire.data(member.subscription),
            wire.data(member.assignment),
        )
    return b"".join(parts)


def decode_key(key: bytes | memoryview) -> OffsetKey | GroupKey | None:
    """None for a kind of record that we do not know."""
    reader = Reader(key)
    version = reader.int16()
    if version in (0, 1):
        return OffsetKey(reader.string(), reader.string(), reader.int32())
    if version == 2:
        return GroupKey(reader.string())
    return None


def decode_offset(value: bytes | memoryview) -> CommittedOffset:
    version = _version(value, 4)
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


def decode_group(value: bytes | memoryview) -> GroupValue:
    version = _version(value, 4)
    reader = Reader(value, flexible=version >= 4)
    reader.int16()
    protocol_type = reader.string()
    generation = reader.int32()
    protocol = reader.nullable_string()
    leader = reader.nullable_string()
    state_ms = reader.int64() if version >= 2 else NO_TIMESTAMP
    members = tuple([_decode_member(reader, version) for _ in range(reader.count())])
    reader.tagged_fields()
    instances = [member.instance_id for member in members if member.instance_id is not None]
    if len({member.member_id for member in members}) < len(members) or len(set(instances)) < len(instances):
        raise MalformedRecord("a member or instance occurs twice")
    return GroupValue(protocol_type, generation, protocol, leader, state_ms, members)


def _decode_member(reader: Reader, version: int) -> MemberValue:
    member_id = reader.string()
    instance_id = reader.nullable_string() if version >= 3 else None
    client_id = reader.string()
    client_host = reader.string()
    rebalance_timeout_ms = reader.int32() if version >= 1 else -1
    session_timeout_ms = reader.int32()
    member = MemberValue(
        member_id,
        instance_id,
        client_id,
        client_host,
        session_timeout_ms if rebalance_timeout_ms == -1 else rebalance_timeout_ms,
        session_timeout_ms,
        reader.data(),
        reader.data(),
    )
    reader.tagged_fields()
    return member


def _version(value: bytes | memoryview, newest: int) -> int:
    version = Reader(value).int16()
    if not 0 <= version <= newest:
        raise MalformedRecord(f"version {version} is not one of 0 to {newest}")
    return version
