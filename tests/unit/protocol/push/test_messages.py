"""Every payload there and back, golden vectors, and bytes that are no payload."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.limits import PARTITIONS_PER_TOPIC_MAX, PUBLISH_PROPERTIES_MAX
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import (
    AckData,
    AckRange,
    Data,
    Item,
    Verdict,
    data_frame,
    data_head,
    encode_item,
    with_delivery_count,
)
from penstock.protocol.push.frames import Frame, FrameSplitter, FrameType, MalformedFrame
from penstock.protocol.push.properties import decode_properties, encode_properties
from penstock.protocol.push.values import Start, StartKind

pytestmark = pytest.mark.feature("P-07", "Q-04", "Q-07")

i16 = st.integers(-(2**15), 2**15 - 1)
i32 = st.integers(-(2**31), 2**31 - 1)
i64 = st.integers(-(2**63), 2**63 - 1)
count32 = st.integers(0, 2**31 - 1)
count64 = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
maybe_bytes = st.none() | st.binary(max_size=30)
properties = st.lists(st.tuples(st.binary(max_size=8), maybe_bytes), max_size=4).map(tuple)
starts = st.builds(Start, st.sampled_from(StartKind), i64)
deliveries = st.sampled_from(m.Delivery)
ranges = st.tuples(i32, count64, count64, st.sampled_from(Verdict)).map(
    lambda one: AckRange(one[0], min(one[1:3]), max(one[1:3]), one[3])
)
ends = st.lists(st.tuples(i32, i64), max_size=3).map(tuple)
payloads = st.one_of(
    st.builds(
        m.Publish,
        texts, count64, st.integers(-1, 2**63 - 1), texts, st.integers(-1, 2**31 - 1), maybe_bytes, maybe_bytes,
        properties, st.integers(-1, 2**63 - 1),
    ),
    st.builds(m.Subscribe, texts, texts, texts, texts, count32, st.integers(0, 2**15 - 1), starts, deliveries),
    st.builds(m.CommitOffset, texts, i32, i64),
    st.builds(m.Reset, texts, i64, st.lists(st.builds(m.TopicEnds, texts, ends), max_size=3).map(tuple)),
    st.builds(m.Ready, texts, i64),
    st.builds(m.Disconnect, texts),
    st.just(m.Heartbeat()),
    st.builds(m.CreateTopic, texts, i32),
    st.builds(m.CreateSubscription, texts, texts, starts, deliveries),
    st.builds(m.DeleteSubscription, texts),
    st.builds(m.Unsubscribe, texts),
    st.builds(m.Error, i16, texts),
    st.builds(m.Authenticate, texts, st.binary(max_size=30)),
    st.builds(m.AuthenticateAck, st.binary(max_size=30), i64),
    st.builds(m.PublishAck, i32, i64, i64),
    st.builds(m.CreateTopicAck, i32, st.booleans()),
    st.builds(m.CreateSubscriptionAck, st.booleans()),
    st.builds(m.SubscribeAck, texts, i32, i16),
    st.builds(m.PlainAck, st.sampled_from(sorted(m.PLAIN_ACKS))),
    st.builds(AckData, texts, st.lists(ranges, max_size=4).map(tuple)),
)  # fmt: skip
items = st.builds(Item, i32, i16, maybe_bytes, i64, i64, properties.map(encode_properties), maybe_bytes)


def only_frame(encoded: bytes) -> Frame:
    (frame,) = FrameSplitter().feed(encoded)
    return frame


@given(payloads, i64)
def test_every_payload_comes_back(value: m.Payload, message_id: int) -> None:
    frame = only_frame(m.encode(value, message_id))
    assert frame.message_id == message_id
    assert m.decode(frame) == value


@given(texts, texts, st.lists(items, max_size=5), i64)
def test_data_comes_back(subscription: str, topic: str, sent: list[Item], message_id: int) -> None:
    encoded = data_frame(data_head(subscription, topic), [encode_item(*item) for item in sent], message_id)
    frame = only_frame(encoded)
    assert frame.message_id == message_id
    assert m.decode(frame) == Data(subscription, topic, tuple(sent))


@given(items, st.integers(1, 1000))
def test_an_item_that_is_sent_again_differs_in_its_count_only(item: Item, count: int) -> None:
    assert with_delivery_count(encode_item(*item), count) == encode_item(*item._replace(delivery_count=count))


@given(st.sampled_from(FrameType), st.binary(max_size=120))
def test_any_bytes_are_a_payload_or_refused(frame_type: FrameType, noise: bytes) -> None:
    with contextlib.suppress(MalformedFrame):
        m.decode(Frame(frame_type, 1, noise))


@given(payloads, st.data())
def test_a_payload_with_a_changed_byte_or_length_is_read_or_refused(value: m.Payload, data: st.DataObject) -> None:
    frame = only_frame(m.encode(value, 1))
    changed = bytearray(frame.payload)
    if changed:
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(changed)))
    for payload in (bytes(changed), bytes(changed[:cut]), bytes(changed) + b"\0"):
        with contextlib.suppress(MalformedFrame):
            m.decode(Frame(frame.type, 1, payload))


@given(properties)
def test_properties_come_back(sent: Any) -> None:
    assert decode_properties(encode_properties(sent)) == sent


def test_properties_as_bytes() -> None:
    sent = ((b"a=b", b"1%\0"), (b"none", None), (b"empty", b""))
    encoded = b"a%3Db=1%25%00\0none\0empty=\0"
    assert encode_properties(sent) == encoded
    assert decode_properties(encoded) == sent
    with pytest.raises(ValueError, match="NUL"):
        decode_properties(b"a=b")


def publish_with(raw_properties: bytes) -> Frame:
    """A PUBLISH whose properties are these bytes."""
    payload = only_frame(m.encode(m.Publish("c", 0, -1, "t", 0, None, b"hi", ((b"a", None),)), 1)).payload
    head, body = payload[:-12], payload[-6:]
    total = struct.pack(">i", 24 + len(raw_properties) + len(body))
    head = head[:-24] + total + head[-20:]
    return Frame(FrameType.PUBLISH, 1, head + struct.pack(">i", len(raw_properties)) + raw_properties + body)


def test_a_published_message_has_so_many_properties_and_no_more() -> None:
    message = m.Publish("c", 0, -1, "t", 0, None, b"hi", ((b"a", b"b"),) * PUBLISH_PROPERTIES_MAX)
    assert m.decode(only_frame(m.encode(message, 1))) == message
    for raw in (b"\0", b"a=b\0", b"a" * 5_000 + b"\0"):
        frame = publish_with(raw * PUBLISH_PROPERTIES_MAX)
        assert len(m.decode(frame).properties) == PUBLISH_PROPERTIES_MAX  # type: ignore[union-attr]
        with pytest.raises(MalformedFrame, match="1001 properties; a message has at most 1000"):
            m.decode(publish_with(raw * (PUBLISH_PROPERTIES_MAX + 1)))


def test_a_delivered_message_has_any_number_of_properties() -> None:
    """The record may be one of a Kafka producer."""
    sent = ((b"a", b"b"),) * (PUBLISH_PROPERTIES_MAX + 1)
    assert decode_properties(encode_properties(sent)) == sent


def test_a_reset_has_the_ends_of_the_largest_topic_and_no_more() -> None:
    ends = tuple((number, number) for number in range(PARTITIONS_PER_TOPIC_MAX))
    reset = m.Reset("s", 5, (m.TopicEnds("t", ends),))
    assert m.decode(only_frame(m.encode(reset, 1))) == reset
    with pytest.raises(MalformedFrame, match="the ends of more than 100000 partitions"):
        m.decode(only_frame(m.encode(reset._replace(topics=(*reset.topics, m.TopicEnds("u", ((0, 0),)))), 1)))


# Frame by frame as docs/formats/push-protocol.md draws them.
GOLDEN: list[tuple[m.Payload, str]] = [
    (
        m.Publish("c", 2, 3, "t", -1, b"k", b"hi", ((b"p", b"v"),), 1000),
        "09 0000000000000007 00000045"
        " 0001 63 0000000000000002 0000000000000003 0001 74 ffffffff 00000001 6b"
        " 00000022 00000009 0000000000000000 00000000000003e8 00000004 703d7600 00000002 6869",
    ),
    (
        AckData("s", (AckRange(1, 5, 9, Verdict.NOT_DONE),)),
        "02 0000000000000007 0000001b 01 0001 73 0001 00000001 0000000000000005 0000000000000009 01",
    ),
    (
        m.Subscribe("", "t", "g", "c", 100, 10, Start(StartKind.OFFSET, 5), m.Delivery.KEY),
        "03 0000000000000007 0000001b 0000 0001 74 0001 67 0001 63 00000064 000a 02 0000000000000005 01",
    ),
    (m.CommitOffset("s", 1, 5), "04 0000000000000007 0000000f 0001 73 00000001 0000000000000005"),
    (
        m.Reset("s", 9, (m.TopicEnds("t", ((0, 5),)),)),
        "05 0000000000000007 00000020 0001 73 0000000000000009 0001 0001 74 00000001 00000000 0000000000000005",
    ),
    (m.Ready("s", 9), "06 0000000000000007 0000000b 0001 73 0000000000000009"),
    (m.Disconnect("bye"), "07 0000000000000007 00000005 0003 627965"),
    (m.Heartbeat(), "08 0000000000000007 00000000"),
    (m.CreateTopic("t", 3), "0a 0000000000000007 00000007 0001 74 00000003"),
    (
        m.CreateSubscription("s", "t", Start(StartKind.TIME, 1000)),
        "0b 0000000000000007 00000010 0001 73 0001 74 03 00000000000003e8 00",
    ),
    (m.DeleteSubscription("s"), "0c 0000000000000007 00000003 0001 73"),
    (m.Unsubscribe("s"), "0d 0000000000000007 00000003 0001 73"),
    (m.Error(3, "no"), "0e 0000000000000007 00000006 0003 0002 6e6f"),
    (m.Authenticate("PLAIN", b"\0a\0b"), "0f 0000000000000007 0000000f 0005 504c41494e 00000004 00610062"),
    (
        m.AuthenticateAck(b"v=x", 3_600_000),
        "02 0000000000000007 00000010 0f 00000003 763d78 000000000036ee80",
    ),
    (m.PublishAck(0, 5, 1000), "02 0000000000000007 00000015 09 00000000 0000000000000005 00000000000003e8"),
    (m.CreateTopicAck(3, True), "02 0000000000000007 00000006 0a 00000003 01"),
    (m.CreateSubscriptionAck(False), "02 0000000000000007 00000002 0b 00"),
    (m.SubscribeAck("s", 100, 10), "02 0000000000000007 0000000a 03 0001 73 00000064 000a"),
    (m.PlainAck(FrameType.READY), "02 0000000000000007 00000001 06"),
]


@pytest.mark.parametrize(("value", "encoded"), GOLDEN, ids=lambda one: type(one).__name__)
def test_golden_vectors(value: m.Payload, encoded: str) -> None:
    assert m.encode(value, 7).hex(" ") == bytes.fromhex(encoded).hex(" ")
    assert m.decode(only_frame(bytes.fromhex(encoded))) == value


def test_golden_data() -> None:
    head = data_head("s", "t")
    sent = [encode_item(1, 2, b"k", 5, 1000, b"p=v\0", b"hi"), encode_item(0, 1, None, 6, 1001, b"", None)]
    encoded = bytes.fromhex(
        "01 0000000000000007 00000063 0001 73 0001 74 0002"
        " 00000001 0002 00000001 6b"
        " 00000022 00000001 0000000000000005 00000000000003e8 00000004 703d7600 00000002 6869"
        " 00000000 0001 ffffffff"
        " 0000001c 00000001 0000000000000006 00000000000003e9 00000000 ffffffff"
    )
    assert data_frame(head, sent, 7).hex(" ") == encoded.hex(" ")
    decoded = m.decode(only_frame(encoded))
    assert isinstance(decoded, Data)
    assert decoded.items == (
        Item(1, 2, b"k", 5, 1000, b"p=v\0", b"hi"),
        Item(0, 1, None, 6, 1001, b"", None),
    )
    assert decoded.items[0].properties == ((b"p", b"v"),)


def test_the_message_of_a_login_is_not_shown() -> None:
    assert "secret" not in repr(m.Authenticate("PLAIN", b"\0alice\0secret"))


def test_every_type_of_frame_has_a_golden_vector() -> None:
    seen = {only_frame(bytes.fromhex(encoded)).type for _, encoded in GOLDEN} | {FrameType.DATA}
    assert seen == set(FrameType)
