"""Requests with tagged fields that this version of the schema does not know: newer clients may send them (KIP-482).

kio refuses such a request as a whole. It is rare, so the cost is paid only then: the message is walked once by its
schema and written again without the unknown fields. Like all tagged fields of a request, they are counted.
"""

from __future__ import annotations

import dataclasses
import functools

from penstock.model.limits import TAGGED_FIELDS_MAX
from penstock.protocol.kafka.array_bounds import FIXED_BYTES, NULL_STRUCT, Field, fields_of
from penstock.protocol.kafka.primitives import (
    Buffer,
    MalformedRequest,
    read_unsigned_varint,
    take_tags,
    write_unsigned_varint,
)


def without_unknown_tags(entity_type: type, buffer: Buffer, position: int) -> bytes:
    """The message at `position` with only the tagged fields that `entity_type` has."""
    out = bytearray()
    try:
        _copy_entity(entity_type, memoryview(buffer), position, out, [TAGGED_FIELDS_MAX])
    except IndexError:
        raise MalformedRequest("the message ends too early") from None
    return bytes(out)


@functools.cache
def _known_tags(entity_type: type) -> frozenset[int]:
    return frozenset(item.metadata["tag"] for item in dataclasses.fields(entity_type) if "tag" in item.metadata)


def _copy_entity(entity_type: type, view: memoryview, position: int, out: bytearray, room: list[int]) -> int:
    for field in fields_of(entity_type):
        position = _copy_field(field, view, position, out, room)
    return _copy_tags(_known_tags(entity_type), view, position, out, room)


def _copy_field(field: Field, view: memoryview, position: int, out: bytearray, room: list[int]) -> int:
    count = 1
    if field.is_array:
        start = position
        length, position = read_unsigned_varint(view, position)
        out += view[start:position]
        count = length - 1
        if count > len(view) - position:
            raise MalformedRequest("an array longer than the request")
    elif field.entity is not None and field.is_nullable:
        out += view[position : position + 1]  # KIP-893: a byte tells whether the struct is there
        count = 0 if view[position] == NULL_STRUCT else 1
        position += 1
    for _ in range(count):
        if field.entity is not None:
            position = _copy_entity(field.entity, view, position, out, room)
        else:
            end = _end_of_primitive(field.kafka_type, view, position)
            out += view[position:end]
            position = end
    return position


def _end_of_primitive(kafka_type: str, view: memoryview, position: int) -> int:
    size = FIXED_BYTES.get(kafka_type)
    if size is None:  # a string, bytes or records
        length, position = read_unsigned_varint(view, position)
        size = max(length - 1, 0)
    if position + size > len(view):
        raise MalformedRequest("a length points outside the request")
    return position + size


def _copy_tags(known: frozenset[int], view: memoryview, position: int, out: bytearray, room: list[int]) -> int:
    count, position = read_unsigned_varint(view, position)
    take_tags(room, count)
    kept: list[memoryview] = []
    for _ in range(count):
        start = position
        tag, position = read_unsigned_varint(view, position)
        size, position = read_unsigned_varint(view, position)
        position += size
        if position > len(view):
            raise MalformedRequest("a tagged field points outside the request")
        if tag in known:
            kept.append(view[start:position])
    out += write_unsigned_varint(len(kept))
    for field in kept:
        out += field
    return position
