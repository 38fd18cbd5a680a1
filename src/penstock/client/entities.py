"""Builder of requests of any API and version from plain values.

Values for fields that only other versions have are left out, and a name that no version has is refused. Missing values
are the schema's default or zero, nested entities are mappings, times and durations are milliseconds.
"""

from __future__ import annotations

import datetime
import types
import typing
import uuid
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from penstock.protocol.kafka.messages import Entity, check_field_name

_ZEROS: dict[str, object] = {
    "bool": False,
    "bytes": b"",
    "float64": 0.0,
    "records": b"",
    "string": "",
    "uuid": uuid.UUID(int=0),
}


def build(entity_type: type[Entity], values: Mapping[str, Any]) -> Entity:
    """The entity with these values. Raises TypeError for a name that no version of the entity has."""
    own = {field.name: _field_value(field, values) for field in fields(entity_type)}
    for name in values.keys() - own.keys():
        check_field_name(entity_type, name)
    return entity_type(**own)


def _field_value(field: Field[Any], values: Mapping[str, Any]) -> Any:
    if field.name not in values:
        return field.default if field.default is not MISSING else _zero(field)
    value = values[field.name]
    if value is None:
        return None
    element, is_array, _ = _inner_type(field.type)
    if is_dataclass(element):
        entity_type = typing.cast(type[Any], element)
        return tuple(build(entity_type, item) for item in value) if is_array else build(entity_type, value)
    kafka_type = field.metadata["kafka_type"]
    return tuple(_primitive(kafka_type, item) for item in value) if is_array else _primitive(kafka_type, value)


def _zero(field: Field[Any]) -> Any:
    element, is_array, is_nullable = _inner_type(field.type)
    if is_array:
        return ()
    if is_nullable:
        return None
    if is_dataclass(element):
        return build(typing.cast(type[Any], element), {})
    kafka_type = field.metadata["kafka_type"]
    return _primitive(kafka_type, _ZEROS.get(kafka_type, 0))


def _inner_type(field_type: Any) -> tuple[Any, bool, bool]:
    """The element type of a field, whether it is an array, and whether it may be null."""
    is_nullable = False
    if typing.get_origin(field_type) in (types.UnionType, typing.Union):
        is_nullable = True
        (field_type, *_) = (each for each in typing.get_args(field_type) if each is not types.NoneType)
    if typing.get_origin(field_type) is tuple:
        return typing.get_args(field_type)[0], True, is_nullable
    return field_type, False, is_nullable


def _primitive(kafka_type: str, value: Any) -> Any:
    if kafka_type.startswith("timedelta") and isinstance(value, int):
        return datetime.timedelta(milliseconds=value)
    if kafka_type == "datetime_i64" and isinstance(value, int):
        return datetime.datetime.fromtimestamp(value / 1000, datetime.UTC)
    if kafka_type == "uuid" and isinstance(value, str):
        return uuid.UUID(value)
    return value
