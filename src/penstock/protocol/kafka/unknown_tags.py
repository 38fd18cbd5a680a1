"""Requests with tagged fields that this version of the schema does not know: newer clients may send them (KIP-482).

kio refuses such a request as a whole. It is rare, so the cost is paid only then: the message is walked once by its
schema and written again without the unknown fields.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from typing import Any

from penstock.protocol.kafka.primitives import Buffer, MalformedRequest, read_unsigned_varint, write_unsigned_varint

_FIXED_BYTES = {
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4,
    "timedelta_i32": 4, "int64": 8, "uint64": 8, "float64": 8, "timedelta_i64": 8, "datetime_i64": 8, "uuid": 16,
}  # fmt: skip


class _Field(typing.NamedTuple):
    """How a field lies in a flexible message: an array of, or a single, primitive or nested entity."""

    kafka_type: str  # empty for an entity
    entity: type | None
    is_array: bool
    is_nullable: bool


def without_unknown_tags(entity_type: type, buffer: Buffer, position: int) -> bytes:
    """The message at `position` with only the tagged fields that `entity_type` has."""
    out = bytearray()
    try:
        _copy_entity(entity_type, memoryview(buffer), position, out)
    except IndexError:
        raise MalformedRequest("the message ends too early") from None
    return bytes(out)


@functools.cache
def _layout(entity_type: type) -> tuple[tuple[_Field, ...], frozenset[int]]:
    """The fields in order, and the tags that are known."""
    hints = typing.get_type_hints(entity_type)
    fields: list[_Field] = []
    tags: set[int] = set()
    for item in dataclasses.fields(entity_type):
        if "tag" in item.metadata:
            tags.add(item.metadata["tag"])
        else:
            fields.append(_field(hints[item.name], item.metadata.get("kafka_type", "")))
    return tuple(fields), frozenset(tags)


def _field(hint: Any, kafka_type: str) -> _Field:
    arguments = typing.get_args(hint)
    is_nullable = type(None) in arguments
    if is_nullable:
        (hint,) = (argument for argument in arguments if argument is not type(None))
    is_array = typing.get_origin(hint) is tuple
    inner: type = typing.get_args(hint)[0] if is_array else hint
    entity = inner if dataclasses.is_dataclass(inner) else None
    return _Field(kafka_type, entity, is_array, is_nullable)


def _copy_entity(entity_type: type, view: memoryview, position: int, out: bytearray) -> int:
    fields, known_tags = _layout(entity_type)
    for field in fields:
        position = _copy_field(field, view, position, out)
    return _copy_tags(known_tags, view, position, out)


def _copy_field(field: _Field, view: memoryview, position: int, out: bytearray) -> int:
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
        count = 1 if view[position] == 1 else 0
        position += 1
    for _ in range(count):
        if field.entity is not None:
            position = _copy_entity(field.entity, view, position, out)
        else:
            end = _end_of_primitive(field.kafka_type, view, position)
            out += view[position:end]
            position = end
    return position


def _end_of_primitive(kafka_type: str, view: memoryview, position: int) -> int:
    size = _FIXED_BYTES.get(kafka_type)
    if size is None:  # a string, bytes or records
        length, position = read_unsigned_varint(view, position)
        size = max(length - 1, 0)
    if position + size > len(view):
        raise MalformedRequest("a length points outside the request")
    return position + size


def _copy_tags(known: frozenset[int], view: memoryview, position: int, out: bytearray) -> int:
    count, position = read_unsigned_varint(view, position)
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
