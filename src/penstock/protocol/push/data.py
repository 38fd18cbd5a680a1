"""DATA, the frame with delivered messages, and the ACK that answers it; no object is made per message on the way.

A message in a DATA frame is an *item*: partition, delivery count, key and the message itself. The sender encodes
items one by one, when a record is read, and joins them to frames as they go out.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from penstock.model.limits import ACK_RANGES_MAX
from penstock.protocol.push.frames import HEADER, FrameType, MalformedFrame
from penstock.protocol.push.properties import Properties, decode_properties
from penstock.protocol.push.values import I16, Reader, text

_ITEM_HEAD = Struct(">ihi")  # partition, delivery count, length of the key
_MESSAGE = Struct(">iiqqi")  # total length, message type, sequence number, timestamp, length of the properties
_I32 = Struct(">i")
_PLAIN_ITEM = Struct(">ihiiiqqii")  # no key, no properties: everything up to the body
_TYPE = int(FrameType.DATA)
MESSAGE_OVERHEAD = _MESSAGE.size - 4 + 4  # bytes of the total length besides properties and body
ITEM_BYTES_MIN = _ITEM_HEAD.size + _MESSAGE.size + 4
_DELIVERY_COUNT = slice(4, 6)
DELIVERY_COUNT_MAX = 0x7FFF


class Verdict(enum.IntEnum):
    DONE = 0
    NOT_DONE = 1


class Item(NamedTuple):
    """One delivered message. `raw_properties` are as they were sent; `properties` decodes them."""

    partition: int
    delivery_count: int
    key: bytes | None
    offset: int
    timestamp: int
    raw_properties: bytes
    body: bytes | None

    @property
    def properties(self) -> Properties:
        try:
            return decode_properties(self.raw_properties)
        except ValueError as error:
            raise MalformedFrame(str(error)) from None


class Data(NamedTuple):
    subscription: str
    topic: str
    items: tuple[Item, ...]


class AckRange(NamedTuple):
    """Offsets from `first` to `last`, both included."""

    partition: int
    first: int
    last: int
    verdict: Verdict = Verdict.DONE


class AckData(NamedTuple):
    subscription: str
    ranges: tuple[AckRange, ...]


def encode_item(
    partition: int,
    delivery_count: int,
    key: bytes | None,
    offset: int,
    timestamp: int,
    raw_properties: bytes,
    body: bytes | memoryview | None,
) -> bytes:
    body_length = -1 if body is None else len(body)
    data = b"" if body is None else body
    total = MESSAGE_OVERHEAD + len(raw_properties) + len(data)
    if key is None and not raw_properties:
        head = _PLAIN_ITEM.pack(partition, delivery_count, -1, total, _TYPE, offset, timestamp, 0, body_length)
        return head + data
    return b"".join(
        (
            _ITEM_HEAD.pack(partition, delivery_count, -1 if key is None else len(key)),
            key or b"",
            _MESSAGE.pack(total, _TYPE, offset, timestamp, len(raw_properties)),
            raw_properties,
            _I32.pack(body_length),
            data,
        )
    )


def item_size(key: bytes | None, raw_properties: bytes, body: bytes | memoryview | None) -> int:
    """Bytes of an encoded item."""
    return ITEM_BYTES_MIN + (len(key) if key else 0) + len(raw_properties) + (len(body) if body else 0)


def with_delivery_count(item: bytes, count: int) -> bytes:
    """The same item, delivered again."""
    before, after = item[: _DELIVERY_COUNT.start], memoryview(item)[_DELIVERY_COUNT.stop :]
    return b"".join((before, I16.pack(min(count, DELIVERY_COUNT_MAX)), after))


def data_head(subscription: str, topic: str) -> bytes:
    """The prefix of every DATA payload of a subscription."""
    return text(subscription) + text(topic)


def frame_room(subscription: str, topic: str, frame_bytes_max: int) -> int:
    """The largest item that fits into a frame of this size."""
    return frame_bytes_max - len(data_head(subscription, topic)) - I16.size


def data_frame(head: bytes, items: Sequence[bytes], message_id: int) -> bytes:
    """A whole frame from `data_head` and encoded items."""
    body = b"".join(items)
    return b"".join((HEADER.pack(_TYPE, message_id, len(head) + 2 + len(body)), head, I16.pack(len(items)), body))


def decode_data(payload: bytes) -> Data:
    reader = Reader(payload)
    subscription, topic = reader.text(), reader.text()
    count = reader.count(reader.i16(), ITEM_BYTES_MIN)
    items, end = decode_items(payload, reader.position, count)
    reader.position = end
    reader.end()
    return Data(subscription, topic, items)


def decode_items(payload: bytes, position: int, count: int) -> tuple[tuple[Item, ...], int]:
    """A number of items from `position` on, and the position after them."""
    size = len(payload)
    items: list[Item] = []
    make = Item._make
    item_head, message_head, body_head = _ITEM_HEAD.unpack_from, _MESSAGE.unpack_from, _I32.unpack_from
    try:
        for _ in range(count):
            partition, delivery_count, key_length = item_head(payload, position)
            position += 10
            key = None
            if key_length >= 0:
                key = payload[position : position + key_length]
                position += key_length
            elif key_length != -1:
                raise MalformedFrame(f"a key of {key_length} bytes")
            total, message_type, offset, timestamp, properties_length = message_head(payload, position)
            end = position + 4 + total
            position += 28
            properties_end = position + properties_length
            if properties_length < 0 or message_type != _TYPE or end > size:
                raise MalformedFrame(f"a message of type {message_type} with {properties_length} bytes of properties")
            raw_properties = payload[position:properties_end] if properties_length else b""
            (body_length,) = body_head(payload, properties_end)
            position = properties_end + 4
            body = None if body_length == -1 else payload[position : position + body_length]
            if position + (body_length if body_length > 0 else 0) != end or body_length < -1:
                raise MalformedFrame(f"a body of {body_length} bytes does not end its message of {total}")
            items.append(make((partition, delivery_count, key, offset, timestamp, raw_properties, body)))
            position = end
    except struct.error:
        raise MalformedFrame(f"the payload ends at byte {size}, in the middle of a message") from None
    return tuple(items), position


_RANGE = Struct(">iqqb")
_ACK_HEAD = b"\x01"


def encode_ack_data(ack: AckData) -> bytes:
    """The payload of the ACK that answers DATA."""
    parts = [_ACK_HEAD, text(ack.subscription), I16.pack(len(ack.ranges))]
    parts += [_RANGE.pack(*one) for one in ack.ranges]
    return b"".join(parts)


def decode_ack_data(reader: Reader) -> AckData:
    """Decode the payload of an ACK of DATA, after the type of the answered frame."""
    subscription = reader.text()
    ranges = []
    count = reader.count(reader.i16(), _RANGE.size)
    if count > ACK_RANGES_MAX:
        raise MalformedFrame(f"an ACK with {count} ranges, more than {ACK_RANGES_MAX}; send several")
    for _ in range(count):
        partition, first, last, verdict = reader.take(_RANGE)
        if verdict not in (0, 1) or first < 0 or last < first:
            raise MalformedFrame(f"offsets {first} to {last} with verdict {verdict}")
        ranges.append(AckRange(partition, first, last, Verdict.NOT_DONE if verdict else Verdict.DONE))
    reader.end()
    return AckData(subscription, tuple(ranges))
