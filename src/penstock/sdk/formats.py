"""Formats: keys and values to bytes and back.

A format does both: `Bytes`, `Text`, `Json`, `Model` (a pydantic model as JSON) and `Avro` (penstock.sdk.avro).
Producers and consumers take one of them, its name, a model's class, or any callable of their own. A missing key or
value (null, on compacted topics a deletion) bypasses all of them and stays None.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Generic, Literal, Protocol, TypeAlias, cast

from pydantic import BaseModel
from typing_extensions import TypeVar

from penstock.sdk.errors import SettingsError

Value = TypeVar("Value", default=Any)

FormatName = Literal["bytes", "text", "json"]


class Format(Protocol[Value]):
    """A serializer and deserializer; its exceptions become SerializationError or DeserializationError."""

    def serialize(self, value: Value) -> bytes:
        """The bytes of a value."""
        ...

    def deserialize(self, data: bytes) -> Value:
        """The value of some bytes."""
        ...


SerializerChoice: TypeAlias = FormatName | Format[Value] | type[Value] | Callable[[Value], bytes]
DeserializerChoice: TypeAlias = FormatName | Format[Value] | type[Value] | Callable[[bytes], Value]


class Bytes:
    """Bytes as they are."""

    def serialize(self, value: object) -> bytes:
        """TypeError for anything but bytes, bytearray and memoryview."""
        if not isinstance(value, (bytes, bytearray, memoryview)):
            name = type(value).__name__
            raise TypeError(f"{name} is not bytes; choose another serializer, such as 'json' or 'text'")
        return bytes(value)

    def deserialize(self, data: bytes) -> bytes:
        """The bytes themselves."""
        return data


class Text:
    """A string, as UTF-8."""

    def serialize(self, value: object) -> bytes:
        """TypeError for anything but a string."""
        if not isinstance(value, str):
            raise TypeError(f"{type(value).__name__} is not a string; pass str(…), or choose the serializer 'json'")
        return value.encode()

    def deserialize(self, data: bytes) -> str:
        """ValueError for bytes that are not UTF-8."""
        return data.decode()


class Json:
    """JSON values, in UTF-8 and without spaces. NaN and infinities, which JSON does not have, are refused."""

    def serialize(self, value: Any) -> bytes:
        """TypeError or ValueError for values that JSON does not have."""
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()

    def deserialize(self, data: bytes) -> Any:
        """ValueError for bytes that are not JSON."""
        return json.loads(data)


Kind = TypeVar("Kind", bound=BaseModel)


class Model(Generic[Kind]):
    """A pydantic model as JSON, checked when it is read."""

    def __init__(self, model: type[Kind]) -> None:
        self._model = model

    def serialize(self, value: Kind) -> bytes:
        """TypeError for anything but the model."""
        if not isinstance(value, self._model):
            raise TypeError(f"{type(value).__name__} is not a {self._model.__name__}")
        return value.model_dump_json(by_alias=True).encode()

    def deserialize(self, data: bytes) -> Kind:
        """ValidationError of pydantic for values that the model refuses."""
        return self._model.model_validate_json(data)


_NAMED: dict[str, Format[Any]] = {"bytes": Bytes(), "text": Text(), "json": Json()}


def serializer(choice: Any, setting: str) -> Callable[[Any], bytes]:
    found = _format(choice, setting)
    return found.serialize if found is not None else cast("Callable[[Any], bytes]", choice)


def deserializer(choice: Any, setting: str) -> Callable[[bytes], Any]:
    found = _format(choice, setting)
    return found.deserialize if found is not None else cast("Callable[[bytes], Any]", choice)


def _format(choice: Any, setting: str) -> Format[Any] | None:
    """The format of a setting, or None for a callable."""
    if isinstance(choice, str) and choice in _NAMED:
        return _NAMED[choice]
    if choice == "avro":
        raise SettingsError(f"{setting}='avro' lacks a schema", hint=f"write {setting}=Avro(schema)")
    if isinstance(choice, type):
        if issubclass(choice, BaseModel):
            return Model(choice)
        if hasattr(choice, "serialize"):
            raise SettingsError(f"{setting}={choice.__name__} is a class", hint="create an instance: write it with (…)")
    elif hasattr(choice, "serialize") and hasattr(choice, "deserialize"):
        return cast("Format[Any]", choice)
    if callable(choice):
        return None
    names = ", ".join(repr(name) for name in _NAMED)
    hint = f"give {names}, Avro(schema), a pydantic model's class, or a callable"
    raise SettingsError(f"{setting}={choice!r} is not a format", hint=hint)
