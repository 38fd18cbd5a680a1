"""Metadata of a classic group as a record of `__consumer_offsets`, in Kafka's own format.

    key    int16 version 2, group string
    value  int16 version, then
           0  protocol type string, generation int32, protocol string?, leader string?, members
           2  … state time int64 before the members
           4  as 3, flexible
    member 0  id, client id, client host strings, session timeout int32, subscription, assignment bytes
           1  … rebalance timeout int32 before the session timeout
           3  … group instance id string? after the id

Like Kafka 4.3, Penstock writes version 3.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.broker.coordination import record_primitives as wire
from penstock.broker.coordination.record_primitives import INT16, MalformedRecord, Reader
from penstock.broker.groups.record_kind import Data, RecordKind, value_version
from penstock.model.ids import NO_TIMESTAMP

_KEY_HEAD = b"\x00\x02"


class GroupKey(NamedTuple):
    group_id: str


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


def encode_key(key: GroupKey) -> bytes:
    return _KEY_HEAD + wire.string(key.group_id)


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


def decode_group(value: Data) -> GroupValue:
    version = value_version(value, 4)
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


CLASSIC_GROUP = RecordKind(
    name="group metadata",
    key_versions=(2,),
    decode_key=lambda reader: GroupKey(reader.string()),
    encode_key=encode_key,
    decode_value=decode_group,
    encode_value=encode_group,
)
