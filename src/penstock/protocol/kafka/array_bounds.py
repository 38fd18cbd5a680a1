"""Check of the array lengths in a request, before kio reads them.

kio makes room for an array of the length that the bytes claim, and ends the process when there is no such room: four
bytes from any client could stop the broker. So the message is walked over once by its schema, as far as its last array,
and a length is refused for which there are not enough bytes; so is null where the schema has none, which kio lets
through, and so are more elements than any request needs, and strings longer than Kafka reads. Everything else that may
be wrong is left to kio.

A schema becomes a list of steps at its first use; most are numbers, bytes to step over. Schemas without arrays have
no steps, and cost nothing: strings behind the last array are looked at in requests that have room for a long one only.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Sequence
from struct import error
from typing import Any, Final, NamedTuple

from penstock.model.limits import REQUEST_ELEMENTS_MAX, TAGGED_FIELDS_MAX
from penstock.protocol.kafka.primitives import (
    INT16,
    INT32,
    STRING_BYTES_MAX,
    Buffer,
    MalformedRequest,
    read_unsigned_varint,
    skip_tagged_fields,
)

FIXED_BYTES: Final = {
    "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "uint32": 4,
    "timedelta_i32": 4, "int64": 8, "uint64": 8, "float64": 8, "timedelta_i64": 8, "datetime_i64": 8, "uuid": 16,
}  # fmt: skip

NULL_STRUCT: Final = 0xFF


class Field(NamedTuple):
    """The layout of a field in a message: an array of, or a single, primitive or nested entity."""

    kafka_type: str  # empty for an entity
    entity: type | None
    is_array: bool
    is_nullable: bool


class _Sized:
    """A string or bytes: a length, then that many bytes."""

    __slots__ = ("is_long", "least_bytes")

    def __init__(self, kafka_type: str, flexible: bool) -> None:
        self.is_long = kafka_type in ("bytes", "records")
        self.least_bytes = 1 if flexible else 4 if self.is_long else 2


class _Tags:
    """Tagged fields; no request that is read by schema has an array in one."""

    least_bytes = 1


class _Nested:
    """An array of elements, or an entity that is there or not (KIP-893)."""

    __slots__ = ("element_bytes", "is_array", "is_nullable", "least_bytes", "steps")

    def __init__(self, steps: Sequence[Step], flexible: bool, field: Field) -> None:
        self.steps = steps
        self.is_array = is_array = field.is_array
        self.is_nullable = field.is_nullable
        self.element_bytes = max(1, _least_bytes(steps))
        self.least_bytes = 1 if flexible or not is_array else 4


Step = int | _Sized | _Tags | _Nested


def check_arrays(entity_type: type, buffer: Buffer, position: int, most: int = REQUEST_ELEMENTS_MAX) -> None:
    """Raise MalformedRequest for an array in the message at `position` that its bytes cannot hold, or a long string.

    Its arrays may have `most` elements together.
    """
    steps, flexible = _plan(entity_type, len(buffer) - position > STRING_BYTES_MAX)
    if not steps:
        return
    try:
        _walk(steps, flexible, buffer, position, [most], [TAGGED_FIELDS_MAX])
    except (IndexError, error):
        raise MalformedRequest("the message ends too early") from None


def _walk(
    steps: Sequence[Step], flexible: bool, buffer: Buffer, position: int, room: list[int], tags: list[int]
) -> int:
    """Walk over a message. `room` is the number of elements, `tags` of tagged fields, for which there is still room."""
    for step in steps:
        if isinstance(step, int):
            position += step
        elif isinstance(step, _Sized):
            if flexible:
                length, position = read_unsigned_varint(buffer, position)
                length -= 1
                if length > STRING_BYTES_MAX and not step.is_long:
                    raise MalformedRequest(f"a string of {length} bytes")
            elif step.is_long:
                length, position = INT32.unpack_from(buffer, position)[0], position + 4
            else:
                length, position = INT16.unpack_from(buffer, position)[0], position + 2
            if length > 0:
                position += length
        elif isinstance(step, _Tags):
            position = skip_tagged_fields(buffer, position, tags)
        else:
            position = _walk_nested(step, flexible, buffer, position, room, tags)
    return position


def _walk_nested(step: _Nested, flexible: bool, buffer: Buffer, position: int, room: list[int], tags: list[int]) -> int:
    if not step.is_array:
        count, position = (0 if buffer[position] == NULL_STRUCT else 1), position + 1
    elif flexible:
        count, position = read_unsigned_varint(buffer, position)
        count -= 1
    else:
        count, position = INT32.unpack_from(buffer, position)[0], position + 4
    if count <= 0:
        if count < 0 and not step.is_nullable:
            raise MalformedRequest("null where an array must be")
        return position
    if count * step.element_bytes > len(buffer) - position:
        raise MalformedRequest("an array longer than the request")
    room[0] -= count
    if room[0] < 0:
        raise MalformedRequest("more elements in arrays than a request may have")
    steps = step.steps
    if len(steps) == 1 and isinstance(steps[0], int):
        return position + count * steps[0]
    for _ in range(count):
        position = _walk(steps, flexible, buffer, position, room, tags)
    return position


@functools.cache
def _plan(entity_type: type, with_strings: bool) -> tuple[tuple[Step, ...], bool]:
    """The steps up to the last array (or string, if wanted), and whether the message is of a flexible version."""
    flexible = bool(entity_type.__flexible__)  # type: ignore[attr-defined]
    steps = _steps(entity_type, flexible)
    wanted = (_Nested, _Sized) if flexible and with_strings else _Nested
    while steps and not isinstance(steps[-1], wanted):
        steps.pop()
    return tuple(steps), flexible


def _steps(entity_type: type, flexible: bool) -> list[Step]:
    steps: list[Step] = []
    for field in fields_of(entity_type):
        inner: list[Step]
        if field.entity is not None:
            inner = _steps(field.entity, flexible)
        else:
            size = FIXED_BYTES.get(field.kafka_type)
            inner = [_Sized(field.kafka_type, flexible) if size is None else size]
        if field.is_array or (field.entity is not None and field.is_nullable):
            inner = [_Nested(inner, flexible, field)]
        for step in inner:
            if isinstance(step, int) and steps and isinstance(steps[-1], int):
                steps[-1] += step
            else:
                steps.append(step)
    if flexible:
        steps.append(_Tags())
    return steps


def _least_bytes(steps: Sequence[Step]) -> int:
    return sum(step if isinstance(step, int) else step.least_bytes for step in steps)


@functools.cache
def fields_of(entity_type: type) -> tuple[Field, ...]:
    """The fields that are not tagged, in their order."""
    hints = typing.get_type_hints(entity_type)
    return tuple(
        _field(hints[item.name], item.metadata.get("kafka_type", ""))
        for item in dataclasses.fields(entity_type)
        if "tag" not in item.metadata
    )


def _field(hint: Any, kafka_type: str) -> Field:
    arguments = typing.get_args(hint)
    is_nullable = type(None) in arguments
    if is_nullable:
        (hint,) = (argument for argument in arguments if argument is not type(None))
    is_array = typing.get_origin(hint) is tuple
    inner: type = typing.get_args(hint)[0] if is_array else hint
    entity = inner if dataclasses.is_dataclass(inner) else None
    return Field(kafka_type, entity, is_array, is_nullable)
