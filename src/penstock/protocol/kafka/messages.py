"""Kafka messages of any API and version, over kio's generated classes.

kio has a class per API *and* version. A handler should not care: it reads a field with `field(entity, name, default)`
when only some versions have it, and builds answers with `Messages`, which drops what the version at hand does not
know and turns plain values (milliseconds, error numbers) into kio's types:

    reply = Messages(api_key=3, version=9)
    reply.MetadataResponse(throttle_time=0, brokers=(), topics=(reply.MetadataResponseTopic(error_code=3, ...),))

Modules load on first use: importing every schema costs more than a second.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import io
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from penstock.model.ids import NO_TOPIC_ID
from penstock.model.limits import ELEMENTS_ENCODED_AT_ONCE, REQUEST_ELEMENTS_MAX, REQUEST_NAMES_MAX
from penstock.protocol.kafka.apis import ABOUT_NAMES
from penstock.protocol.kafka.array_bounds import check_arrays
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.protocol.kafka.quick_kio import EntityType, KioErrorCode, entity_reader, entity_writer, kio_index
from penstock.protocol.kafka.unknown_tags import without_unknown_tags

Entity = Any  # kio's classes differ per version: their fields are known only at run time


def milliseconds(span: datetime.timedelta) -> int:
    return round(span / datetime.timedelta(milliseconds=1))


def _to_timedelta(value: Any) -> Any:
    return datetime.timedelta(milliseconds=value) if isinstance(value, int) else value


def _to_datetime(value: Any) -> Any:
    if isinstance(value, int):
        return datetime.datetime.fromtimestamp(value / 1000, datetime.UTC) if value >= 0 else None
    return value


def _to_error(value: Any) -> Any:
    return value if isinstance(value, KioErrorCode) else KioErrorCode(int(value))


def _to_uuid(value: Any) -> Any:
    return None if value == NO_TOPIC_ID else value


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "timedelta_i32": _to_timedelta,
    "timedelta_i64": _to_timedelta,
    "datetime_i64": _to_datetime,
    "error_code": _to_error,
    "uuid": _to_uuid,
}


def _constructor(entity_class: type[Entity]) -> Callable[..., Entity]:
    """A constructor that takes plain values and leaves out fields that other versions have.

    A name that no version has is a mistake of the caller. The throttle time is 0 unless given: quotas write theirs into
    the encoded reply.
    """
    converters: dict[str, Callable[[Any], Any]] = {}
    for item in dataclasses.fields(entity_class):
        kafka_type = item.metadata.get("kafka_type")
        is_array = str(item.type).startswith("tuple")
        converters[item.name] = _to_tuple if is_array else _CONVERTERS.get(kafka_type or "", _to_tuple)
    preset = {"throttle_time": datetime.timedelta()} if "throttle_time" in converters else {}
    others: set[str] = set()  # fields of other versions that were given here

    def build(**values: Any) -> Entity:
        fields = dict(preset)
        for name, value in values.items():
            convert = converters.get(name)
            if convert is not None:
                fields[name] = convert(value)
            elif name not in others:
                check_field_name(entity_class, name)
                others.add(name)
        return entity_class(**fields)

    return build


def check_field_name(entity_class: type[Entity], name: str) -> None:
    """Raise TypeError if no version of an entity has a field of this name."""
    from penstock.protocol.kafka.field_names import FIELD_NAMES  # large, and rarely needed

    api = entity_class.__module__.split(".")[-3]  # kio.schema.API.vN.response
    known = FIELD_NAMES.get(f"{api}.{entity_class.__name__}")
    if known is not None and name not in known.split():
        raise TypeError(f"no version of {entity_class.__name__} has a field {name}; there are {known}")


class Messages:
    """The response classes of one API and version, by name."""

    def __init__(self, api_key: int, version: int) -> None:
        self.api_key = api_key
        self.version = version
        self._module: ModuleType = kio_index.load_payload_module(api_key, version, EntityType.response)

    def __getattr__(self, name: str) -> Callable[..., Entity]:
        entity_class = getattr(self._module, name, None)
        if entity_class is None:
            raise AttributeError(f"{self._module.__name__} has no {name}")
        built = _constructor(entity_class)
        self.__dict__[name] = built  # next time without __getattr__
        return built

    def has(self, name: str) -> bool:
        """Whether this version has the nested class `name` at all."""
        return hasattr(self._module, name)


@functools.cache
def response_messages(api_key: int, version: int) -> Messages:
    return Messages(api_key, version)


@functools.cache
def request_schema(api_key: int, version: int) -> type[Entity]:
    return kio_index.load_request_schema(api_key, version)


@functools.cache
def request_reader(api_key: int, version: int) -> Any:
    return entity_reader(request_schema(api_key, version))


def decode_request(api_key: int, version: int, frame: bytes, position: int) -> Entity:
    """The request whose body starts at `position`. Raises MalformedRequest."""
    if position < len(frame):
        most = REQUEST_NAMES_MAX if api_key in ABOUT_NAMES else REQUEST_ELEMENTS_MAX
        check_arrays(request_schema(api_key, version), frame, position, most)
    try:
        return request_reader(api_key, version)(frame, position)[0]
    except KeyError:  # a tagged field that this version of the schema does not know
        frame, position = without_unknown_tags(request_schema(api_key, version), frame, position), 0
    except Exception as problem:  # kio has no common type for what malformed bytes can cause
        raise MalformedRequest(str(problem) or type(problem).__name__) from problem
    try:
        return request_reader(api_key, version)(frame, position)[0]
    except Exception as problem:
        raise MalformedRequest(str(problem) or type(problem).__name__) from problem


@functools.cache
def response_reader(api_key: int, version: int) -> Any:
    return entity_reader(kio_index.load_response_schema(api_key, version))


def response_schema(api_key: int, version: int) -> type[Entity]:
    return kio_index.load_response_schema(api_key, version)


def load(api_key: int, version: int) -> None:
    """Load everything that the first request of this version would have to wait for."""
    request_reader(api_key, version)
    response_messages(api_key, version)
    entity_writer(kio_index.load_response_schema(api_key, version))


def is_long(entity: Entity) -> bool:
    """Whether encoding takes so long that others would notice."""
    return _room_left(entity, ELEMENTS_ENCODED_AT_ONCE) < 0


def _room_left(entity: Entity, room: int) -> int:
    """What is left of `room` after the elements of all arrays in an entity; below 0 as soon as they are too many."""
    for name in _array_fields(entity.__class__):
        array = getattr(entity, name)
        if not array:
            continue
        room -= len(array)
        if room < 0:
            return room
        if _array_fields(array[0].__class__):
            for element in array:
                room = _room_left(element, room)
                if room < 0:
                    return room
    return room


@functools.cache
def _array_fields(entity_class: type[object]) -> tuple[str, ...]:
    if not dataclasses.is_dataclass(entity_class):
        return ()
    return tuple(item.name for item in dataclasses.fields(entity_class) if str(item.type).startswith("tuple"))


def arrays_of(entity: Entity) -> Iterator[list[Any]]:
    """The elements of long arrays in an entity, and in their elements, as lists that can be emptied in this order.

    An entity cannot: whoever lets go of one lets go of all of its elements at once.
    """
    for name in _array_fields(entity.__class__):
        array = getattr(entity, name)
        if not array:
            continue
        if len(array) > ELEMENTS_ENCODED_AT_ONCE:
            yield list(array)
        if _array_fields(array[0].__class__):
            for element in array:
                yield from arrays_of(element)


def encode(entity: Entity) -> bytes:
    """The bytes of a request or response body."""
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()
