"""The records of __consumer_offsets against bytes that Apache Kafka 4.3.0 wrote, and round trips."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.broker.coordination.placement import java_hash, partition_of
from penstock.broker.coordination.record_primitives import MalformedRecord
from penstock.broker.groups.classic.records import (
    CLASSIC_GROUP,
    GroupKey,
    GroupValue,
    MemberValue,
    decode_group,
    encode_group,
)
from penstock.broker.groups.embedded_protocol import subscribed_topics
from penstock.broker.groups.log.record_table import decode_key
from penstock.broker.groups.offsets.records import (
    OFFSET_COMMIT,
    CommittedOffset,
    OffsetChange,
    OffsetKey,
    decode_offset,
    encode_offset,
    offset_records,
)

TOPIC_ID = uuid.UUID("74f6baa7-d001-4aea-914d-11b7bcd3a05e")
SUBSCRIPTION = bytes.fromhex("000100000001000174ffffffff00000000")

OFFSETS = [  # group, topic, partition, value; key and value as Kafka wrote them
    (
        OffsetKey("simple", "t", 0),
        CommittedOffset(5, 3, "meta", 0x1A1E150C25A, topic_id=TOPIC_ID),
        "0001000673696d706c6500017400000000",
        "0004000000000000000500000003056d657461000001a1e150c25a01001074f6baa7d0014aea914d11b7bcd3a05e",
    ),
    (
        OffsetKey("", "t", 0),
        CommittedOffset(5, -1, "", 0x1A1E150C29C, topic_id=TOPIC_ID),
        "0001000000017400000000",
        "00040000000000000005ffffffff01000001a1e150c29c01001074f6baa7d0014aea914d11b7bcd3a05e",
    ),
    (
        OffsetKey("simple2", "t", 0),
        CommittedOffset(7, -1, "x", 0x1A1E150C286, expire_ms=0x1A1E1524926),
        "0001000773696d706c653200017400000000",
        "00010000000000000007000178000001a1e150c286000001a1e1524926",
    ),
]

DYNAMIC, STATIC = "wire-2908222d-0451-4621-9a26-5797c2808838", "inst-4471dd34-af68-4a32-9a19-733fcaffbf14"
GROUPS = [
    ("j3", GroupValue("", 0, None, None, 0x1A1E15161B7, ()), "0003000000000000ffffffff000001a1e15161b700000000"),
    (
        "g1",
        GroupValue(
            "consumer",
            1,
            "range",
            DYNAMIC,
            0x1A1E15161FC,
            (MemberValue(DYNAMIC, None, "wire", "/127.0.0.1", 30000, 30000, SUBSCRIPTION, b""),),
        ),
        "00030008636f6e73756d657200000001000572616e67650029776972652d32393038323232642d303435312d343632312d3961"
        "32362d353739376332383038383338000001a1e15161fc000000010029776972652d32393038323232642d303435312d343632"
        "312d396132362d353739376332383038383338ffff000477697265000a2f3132372e302e302e31000075300000753000000011"
        "000100000001000174ffffffff0000000000000000",
    ),
    (
        "s1",
        GroupValue(
            "consumer",
            1,
            "range",
            STATIC,
            0x1A1E1516278,
            (MemberValue(STATIC, "inst", "wire", "/127.0.0.1", 30000, 30000, SUBSCRIPTION, b"ASG"),),
        ),
        "00030008636f6e73756d657200000001000572616e67650029696e73742d34343731646433342d616636382d346133322d3961"
        "31392d373333666361666662663134000001a1e1516278000000010029696e73742d34343731646433342d616636382d346133"
        "322d396131392d3733336663616666626631340004696e7374000477697265000a2f3132372e302e302e310000753000007530"
        "00000011000100000001000174ffffffff0000000000000003415347",
    ),
    (
        "g1",
        GroupValue("consumer", 2, None, None, 0x1A1E151626C, ()),
        "00030008636f6e73756d657200000002ffffffff000001a1e151626c00000000",
    ),
]


def decoded(key: bytes) -> tuple[object, object]:
    """The kind that a key is of, and the key."""
    found = decode_key(key)
    assert found is not None
    return found[0].kind, found[1]


@pytest.mark.feature("F-01")
@pytest.mark.parametrize(("key", "committed", "key_bytes", "value_bytes"), OFFSETS)
def test_offset_records_are_kafkas(
    key: OffsetKey, committed: CommittedOffset, key_bytes: str, value_bytes: str
) -> None:
    assert OFFSET_COMMIT.encode_key(key).hex() == key_bytes
    (record,) = offset_records(key.group_id, [OffsetChange(key.topic, key.partition, committed)])
    assert record == OFFSET_COMMIT.record(key, committed)
    assert encode_offset(committed).hex() == value_bytes
    assert decoded(bytes.fromhex(key_bytes)) == (OFFSET_COMMIT, key)
    assert decode_offset(bytes.fromhex(value_bytes)) == committed


@pytest.mark.feature("F-01")
@pytest.mark.parametrize(("group_id", "value", "value_bytes"), GROUPS)
def test_group_records_are_kafkas(group_id: str, value: GroupValue, value_bytes: str) -> None:
    assert decoded(CLASSIC_GROUP.encode_key(GroupKey(group_id))) == (CLASSIC_GROUP, GroupKey(group_id))
    assert CLASSIC_GROUP.encode_key(GroupKey("simple2")).hex() == "0002000773696d706c6532"
    assert encode_group(value).hex() == value_bytes
    assert decode_group(bytes.fromhex(value_bytes)) == value


def test_older_and_newer_versions_are_read() -> None:
    v0 = "0000" + "0000000000000007" + "000178" + "0000000000000009"
    assert decode_offset(bytes.fromhex(v0)) == CommittedOffset(7, -1, "x", 9)
    v3 = "0003" + "0000000000000007" + "00000002" + "000178" + "0000000000000009"
    assert decode_offset(bytes.fromhex(v3)) == CommittedOffset(7, 2, "x", 9)
    group_v0 = "0000" + "0001" + "63" + "00000003" + "ffff" + "ffff" + "00000001"
    group_v0 += "000161" + "000162" + "000163" + "00001770" + "00000000" + "00000001" + "64"
    member = MemberValue("a", None, "b", "c", 6000, 6000, b"", b"d")
    assert decode_group(bytes.fromhex(group_v0)) == GroupValue("c", 3, None, None, -1, (member,))
    group_v4 = "0004" + "0263" + "00000003" + "00" + "0261" + "0000000000000005" + "02"
    group_v4 += "0261" + "00" + "0262" + "0263" + "00000001" + "00001770" + "01" + "0264" + "00" + "00"
    member = MemberValue("a", None, "b", "c", 1, 6000, b"", b"d")
    assert decode_group(bytes.fromhex(group_v4)) == GroupValue("c", 3, None, "a", 5, (member,))


def test_keys_of_unknown_kinds_are_not_decoded() -> None:
    assert decode_key(b"\x00\x03\x00\x01g") is None


@given(st.binary(max_size=200))
def test_garbage_never_does_more_than_raise(data: bytes) -> None:
    for decode in (decode_key, decode_offset, decode_group):
        try:
            decode(data)
        except MalformedRecord:
            pass


text = st.text(max_size=40).filter(lambda value: not any(0xD800 <= ord(unit) < 0xE000 for unit in value))
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
int32 = st.integers(-(1 << 31), (1 << 31) - 1)


@given(int64, int32, text, int64, st.uuids())
def test_offsets_round_trip(offset: int, epoch: int, metadata: str, commit_ms: int, topic_id: uuid.UUID) -> None:
    committed = CommittedOffset(offset, epoch, metadata, commit_ms, topic_id=topic_id)
    assert decode_offset(encode_offset(committed)) == committed


members = st.builds(
    MemberValue, text, st.none() | text, text, text, st.integers(0, 1 << 30), int32, st.binary(), st.binary()
)


@given(
    text,
    int32,
    st.none() | text,
    st.none() | text,
    int64,
    st.lists(
        members,
        max_size=4,
        unique_by=(lambda m: m.member_id, lambda m: (m.instance_id, m.instance_id is None and m.member_id)),
    ),
)
def test_groups_round_trip(
    kind: str, generation: int, protocol: str | None, leader: str | None, at: int, joined: list[MemberValue]
) -> None:
    value = GroupValue(kind, generation, protocol, leader, at, tuple(joined))
    assert decode_group(encode_group(value)) == value


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [("nogroup2", 0), ("", 0), ("simple", 1), ("simple2", 1), ("j3", 2), ("g1", 2), ("simple10", 3), ("s1", 4)],
)
def test_groups_live_where_kafka_puts_them(group_id: str, partition: int) -> None:
    assert partition_of(group_id, 5) == partition  # seen on a Kafka with five partitions


def test_java_hash_counts_utf16_units() -> None:
    assert java_hash("hello") == 99162322
    assert java_hash("é") == 0xE9
    assert java_hash("😀") == (0xD83D * 31 + 0xDE00) & 0xFFFFFFFF


def test_subscriptions() -> None:
    assert subscribed_topics("consumer", [SUBSCRIPTION]) == frozenset({"t"})
    assert subscribed_topics("consumer", []) == frozenset()
    assert subscribed_topics("consumer", [SUBSCRIPTION, b""]) is None
    assert subscribed_topics("connect", [SUBSCRIPTION]) is None
