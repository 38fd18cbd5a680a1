"""Arguments of callers, checked and converted to their form on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.model.limits import PUBLISH_PROPERTIES_MAX
from penstock.protocol.push.properties import Properties

Text = str | bytes
PropertyValue = str | bytes | int | float | bool | None
PropertiesArgument = Mapping[str, PropertyValue] | Iterable[tuple[Text, PropertyValue]] | None


def body_bytes(body: Text | None) -> bytes | None:
    return _bytes(body, "body")


def key_bytes(key: Text | None) -> bytes | None:
    return _bytes(key, "key")


def property_pairs(properties: PropertiesArgument) -> Properties:
    """Properties as pairs of bytes. Numbers are written as text; None is a null value. ValueError for too many."""
    if properties is None:
        return ()
    pairs = properties.items() if isinstance(properties, Mapping) else properties
    made = tuple((_bytes(name, "property name") or b"", _value(value)) for name, value in pairs)
    if len(made) > PUBLISH_PROPERTIES_MAX:
        raise ValueError(f"{len(made)} properties; a message has at most {PUBLISH_PROPERTIES_MAX}")
    return made


def _value(value: PropertyValue) -> bytes | None:
    if isinstance(value, bool | int | float):
        return str(value).encode()
    return _bytes(value, "property")


def _bytes(value: object, what: str) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"{what} is a {type(value).__name__}; give bytes or str")
