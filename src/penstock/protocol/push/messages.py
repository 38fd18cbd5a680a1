"""Every payload but DATA's, as a value with an encoder and a decoder: `encode(value, id)` is a whole frame, and
`decode(frame)` is the value.

Nothing is trusted: a payload that is not exactly what its type says is a MalformedFrame.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from penstock.model.limits import PARTITIONS_PER_TOPIC_MAX, PUBLISH_PROPERTIES_MAX
from penstock.protocol.push.data import AckData, Data, decode_ack_data, decode_data, encode_ack_data
from penstock.protocol.push.data import data_frame as data_frame
from penstock.protocol.push.data import data_head as data_head
from penstock.protocol.push.frames import NO_ID, Frame, FrameType, MalformedFrame, encode_frame
from penstock.protocol.push.properties import Properties, decode_properties, encode_properties
from penstock.protocol.push.values import I8, I16, I32, I64, Reader, Start, nullable_bytes, some_bytes, start, text

_MESSAGE = Struct(">iiqqi")
_PUBLISHED = Struct(">iqq")
NO_PARTITION = -1
NO_SEQUENCE = -1
BROKER_TIME = -1


class Delivery(enum.IntEnum):
    """The way in which messages are assigned to members: in turn, or by key."""

    MESSAGE = 0
    KEY = 1


class Publish(NamedTuple):
    client_id: str
    epoch: int
    sequence: int
    topic: str
    partition: int
    key: bytes | None
    body: bytes | None
    properties: Properties = ()
    timestamp: int = BROKER_TIME


class Subscribe(NamedTuple):
    """A request to join, by the name of a subscription, or with an empty one by topic and group."""

    subscription: str
    topic: str = ""
    group: str = ""
    client_id: str = ""
    credit: int = 0
    messages_per_frame: int = 0
    start: Start = Start()
    delivery: Delivery = Delivery.MESSAGE


class CommitOffset(NamedTuple):
    subscription: str
    partition: int
    offset: int


class TopicEnds(NamedTuple):
    topic: str
    ends: tuple[tuple[int, int], ...]  # partition and end offset


class Reset(NamedTuple):
    subscription: str
    refresh_id: int
    topics: tuple[TopicEnds, ...]


class Ready(NamedTuple):
    subscription: str
    refresh_id: int


class Disconnect(NamedTuple):
    reason: str


class Heartbeat(NamedTuple):
    pass


class CreateTopic(NamedTuple):
    topic: str
    partitions: int


class CreateSubscription(NamedTuple):
    name: str
    topic: str
    start: Start = Start()
    delivery: Delivery = Delivery.MESSAGE


class DeleteSubscription(NamedTuple):
    name: str


class Unsubscribe(NamedTuple):
    name: str


class Error(NamedTuple):
    code: int
    message: str


class Authenticate(NamedTuple):
    """A step of a login: the client's next message of a SASL mechanism."""

    mechanism: str
    message: bytes

    def __repr__(self) -> str:
        return f"Authenticate({self.mechanism!r}, {len(self.message)} bytes)"  # with PLAIN it is the password


class AuthenticateAck(NamedTuple):
    """The broker's message. In the answer to the last step, `lifetime_ms` is that of the session; 0: it has no end."""

    message: bytes
    lifetime_ms: int = 0


class PublishAck(NamedTuple):
    partition: int
    offset: int
    timestamp: int


class CreateTopicAck(NamedTuple):
    partitions: int
    created: bool


class CreateSubscriptionAck(NamedTuple):
    created: bool


class SubscribeAck(NamedTuple):
    subscription: str
    credit: int
    messages_per_frame: int


class PlainAck(NamedTuple):
    """The ACK of a request whose answer is that it was done."""

    answers: FrameType


Payload = (
    AckData | Authenticate | AuthenticateAck | CommitOffset | CreateSubscription | CreateSubscriptionAck | CreateTopic
    | CreateTopicAck | Data | DeleteSubscription | Disconnect | Error | Heartbeat | PlainAck | Publish | PublishAck
    | Ready | Reset | Subscribe | SubscribeAck | Unsubscribe
)  # fmt: skip
PLAIN_ACKS = frozenset(
    (
        FrameType.COMMIT_OFFSET,
        FrameType.READY,
        FrameType.RESET,
        FrameType.DELETE_SUBSCRIPTION,
        FrameType.UNSUBSCRIBE,
    )
)
ASKED_REFRESH = 0
"""The refresh id of a RESET with which a client asks for one: the broker gives it its number."""


def encode(value: Any, message_id: int = NO_ID) -> bytes:
    """A whole frame. DATA is made by `data_frame`, from items that are encoded already."""
    frame_type, encoder = _ENCODERS[type(value)]
    return encode_frame(frame_type, message_id, encoder(value))


def decode(frame: Frame) -> Payload:
    if frame.type is FrameType.DATA:
        return decode_data(frame.payload)
    reader = Reader(frame.payload)
    value = _DECODERS[frame.type](reader)
    reader.end()
    return value


# --- frames of clients ---------------------------------------------------------------------------------------------


def _publish(value: Publish) -> bytes:
    properties = encode_properties(value.properties)
    body = nullable_bytes(value.body)
    total = _MESSAGE.size - 4 + len(properties) + len(body)
    return b"".join(
        (
            text(value.client_id),
            I64.pack(value.epoch),
            I64.pack(value.sequence),
            text(value.topic),
            I32.pack(value.partition),
            nullable_bytes(value.key),
            _MESSAGE.pack(total, FrameType.PUBLISH, 0, value.timestamp, len(properties)),
            properties,
            body,
        )
    )


_PUBLISH_NUMBERS = Struct(">qq")


def _read_publish(reader: Reader) -> Publish:
    client_id = reader.text()
    epoch, sequence = reader.take(_PUBLISH_NUMBERS)
    topic, partition, key = reader.text(), reader.i32(), reader.nullable_bytes()
    message_start = reader.position
    total, message_type, _, timestamp, properties_length = reader.take(_MESSAGE)
    raw_properties = reader.raw(properties_length)
    body = reader.nullable_bytes()
    if message_type != FrameType.PUBLISH or reader.position != message_start + 4 + total:
        found = reader.position - message_start - 4
        raise MalformedFrame(f"a message of type {message_type} and {total} bytes in PUBLISH, {found} are there")
    if timestamp < BROKER_TIME or partition < NO_PARTITION or sequence < NO_SEQUENCE or epoch < 0:
        raise MalformedFrame(
            f"timestamp {timestamp}, partition {partition}, epoch {epoch} or sequence {sequence} is too small"
        )
    if len(raw_properties) > PUBLISH_PROPERTIES_MAX:  # each has a byte at least
        count = raw_properties.count(b"\0")
        if count > PUBLISH_PROPERTIES_MAX:
            raise MalformedFrame(f"{count} properties; a message has at most {PUBLISH_PROPERTIES_MAX}")
    try:
        properties = decode_properties(raw_properties)
    except ValueError as error:
        raise MalformedFrame(str(error)) from None
    return Publish(client_id, epoch, sequence, topic, partition, key, body, properties, timestamp)


_SUBSCRIBE = Struct(">ih")


def _subscribe(value: Subscribe) -> bytes:
    names = (value.subscription, value.topic, value.group, value.client_id)
    numbers = _SUBSCRIBE.pack(value.credit, value.messages_per_frame)
    return b"".join((*map(text, names), numbers, start(value.start), I8.pack(value.delivery)))


def _read_subscribe(reader: Reader) -> Subscribe:
    subscription, topic, group, client_id = reader.text(), reader.text(), reader.text(), reader.text()
    credit, messages_per_frame = reader.take(_SUBSCRIBE)
    if credit < 0 or messages_per_frame < 0:
        raise MalformedFrame(f"a credit of {credit} and {messages_per_frame} messages per frame")
    return Subscribe(
        subscription, topic, group, client_id, credit, messages_per_frame, reader.start(), _delivery(reader)
    )


def _delivery(reader: Reader) -> Delivery:
    number = reader.i8()
    try:
        return Delivery(number)
    except ValueError:
        raise MalformedFrame(f"delivery {number}; there are 0 (message) and 1 (key)") from None


def _commit_offset(value: CommitOffset) -> bytes:
    return text(value.subscription) + I32.pack(value.partition) + I64.pack(value.offset)


def _create_subscription(value: CreateSubscription) -> bytes:
    return text(value.name) + text(value.topic) + start(value.start) + I8.pack(value.delivery)


# --- frames of the broker ------------------------------------------------------------------------------------------


_END = Struct(">iq")


def _reset(value: Reset) -> bytes:
    parts = [text(value.subscription), I64.pack(value.refresh_id), I16.pack(len(value.topics))]
    for topic, ends in value.topics:
        parts += (text(topic), I32.pack(len(ends)))
        parts += [_END.pack(*end) for end in ends]
    return b"".join(parts)


def _read_reset(reader: Reader) -> Reset:
    subscription, refresh_id = reader.text(), reader.i64()
    topics = []
    room = PARTITIONS_PER_TOPIC_MAX  # a subscription has one topic
    for _ in range(reader.count(reader.i16(), 6)):
        topic = reader.text()
        count = reader.count(reader.i32(), _END.size)
        room -= count
        if room < 0:
            raise MalformedFrame(f"the ends of more than {PARTITIONS_PER_TOPIC_MAX} partitions in RESET")
        topics.append(TopicEnds(topic, tuple(_END.iter_unpack(reader.raw(count * _END.size)))))
    return Reset(subscription, refresh_id, tuple(topics))


def _read_ack(reader: Reader) -> Payload:
    number = reader.i8()
    if number == FrameType.DATA:
        return decode_ack_data(reader)
    if number == FrameType.PUBLISH:
        return PublishAck(*reader.take(_PUBLISHED))
    if number == FrameType.CREATE_TOPIC:
        return CreateTopicAck(reader.i32(), reader.i8() != 0)
    if number == FrameType.CREATE_SUBSCRIPTION:
        return CreateSubscriptionAck(reader.i8() != 0)
    if number == FrameType.SUBSCRIBE:
        return SubscribeAck(reader.text(), *reader.take(_SUBSCRIBE))
    if number == FrameType.AUTHENTICATE:
        return AuthenticateAck(reader.some_bytes(), reader.i64())
    if number in PLAIN_ACKS:
        return PlainAck(FrameType(number))
    raise MalformedFrame(f"an ACK of 0x{number & 0xFF:02X}, which is never answered by one")


def _answer(frame_type: FrameType) -> bytes:
    return I8.pack(frame_type)


def _subscribe_ack(value: SubscribeAck) -> bytes:
    numbers = _SUBSCRIBE.pack(value.credit, value.messages_per_frame)
    return _answer(FrameType.SUBSCRIBE) + text(value.subscription) + numbers


def shorten(message: str, bytes_max: int = 1000) -> str:
    """Cut the text of an ERROR or DISCONNECT to at most `bytes_max` bytes of UTF-8, at a character."""
    return message.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")


_Encoder = Callable[[Any], bytes]
_ENCODERS: dict[type, tuple[FrameType, _Encoder]] = {
    AckData: (FrameType.ACK, encode_ack_data),
    Publish: (FrameType.PUBLISH, _publish),
    Subscribe: (FrameType.SUBSCRIBE, _subscribe),
    CommitOffset: (FrameType.COMMIT_OFFSET, _commit_offset),
    Reset: (FrameType.RESET, _reset),
    Ready: (FrameType.READY, lambda value: text(value.subscription) + I64.pack(value.refresh_id)),
    Disconnect: (FrameType.DISCONNECT, lambda value: text(shorten(value.reason))),
    Heartbeat: (FrameType.HEARTBEAT, lambda _: b""),
    CreateTopic: (FrameType.CREATE_TOPIC, lambda value: text(value.topic) + I32.pack(value.partitions)),
    CreateSubscription: (FrameType.CREATE_SUBSCRIPTION, _create_subscription),
    DeleteSubscription: (FrameType.DELETE_SUBSCRIPTION, lambda value: text(value.name)),
    Unsubscribe: (FrameType.UNSUBSCRIBE, lambda value: text(value.name)),
    Error: (FrameType.ERROR, lambda value: I16.pack(value.code) + text(shorten(value.message))),
    Authenticate: (FrameType.AUTHENTICATE, lambda value: text(value.mechanism) + some_bytes(value.message)),
    AuthenticateAck: (
        FrameType.ACK,
        lambda value: _answer(FrameType.AUTHENTICATE) + some_bytes(value.message) + I64.pack(value.lifetime_ms),
    ),
    PublishAck: (FrameType.ACK, lambda value: _answer(FrameType.PUBLISH) + _PUBLISHED.pack(*value)),
    CreateTopicAck: (
        FrameType.ACK,
        lambda value: _answer(FrameType.CREATE_TOPIC) + I32.pack(value.partitions) + I8.pack(value.created),
    ),
    CreateSubscriptionAck: (
        FrameType.ACK, lambda value: _answer(FrameType.CREATE_SUBSCRIPTION) + I8.pack(value.created),
    ),
    SubscribeAck: (FrameType.ACK, _subscribe_ack),
    PlainAck: (FrameType.ACK, lambda value: _answer(value.answers)),
}  # fmt: skip
_DECODERS: dict[FrameType, Callable[[Reader], Payload]] = {
    FrameType.ACK: _read_ack,
    FrameType.PUBLISH: _read_publish,
    FrameType.SUBSCRIBE: _read_subscribe,
    FrameType.COMMIT_OFFSET: lambda reader: CommitOffset(reader.text(), reader.i32(), reader.i64()),
    FrameType.RESET: _read_reset,
    FrameType.READY: lambda reader: Ready(reader.text(), reader.i64()),
    FrameType.DISCONNECT: lambda reader: Disconnect(reader.text()),
    FrameType.HEARTBEAT: lambda _: Heartbeat(),
    FrameType.CREATE_TOPIC: lambda reader: CreateTopic(reader.text(), reader.i32()),
    FrameType.CREATE_SUBSCRIPTION: lambda reader: CreateSubscription(
        reader.text(), reader.text(), reader.start(), _delivery(reader)
    ),
    FrameType.DELETE_SUBSCRIPTION: lambda reader: DeleteSubscription(reader.text()),
    FrameType.UNSUBSCRIBE: lambda reader: Unsubscribe(reader.text()),
    FrameType.ERROR: lambda reader: Error(reader.i16(), reader.text()),
    FrameType.AUTHENTICATE: lambda reader: Authenticate(reader.text(), reader.some_bytes()),
}
