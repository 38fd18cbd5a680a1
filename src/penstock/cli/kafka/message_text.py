"""Messages as lines of text, as `produce` reads and `consume` writes them.

In JSON a message is an object; the output of `consume --output json` is valid input of `produce --format json`:

    {"key": "a", "value": "text", "headers": [["name", "value"]], "partition": 0, "timestamp": 1700000000000}

A value that is an object, a number or another JSON value is sent as its JSON text; null is a tombstone. Bytes that are
not UTF-8 are in `key_base64` and `value_base64`. Topic and offset are ignored in input.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.cli.terminal.output import json_text

Headers = list[tuple[str, bytes | None]]
INT32_MAX, INT64_MAX = (1 << 31) - 1, (1 << 63) - 1
_KNOWN = {"key", "key_base64", "value", "value_base64", "headers", "partition", "timestamp", "topic", "offset"}


@dataclass(slots=True)
class OutgoingMessage:
    key: bytes | None
    value: bytes | None
    headers: Headers = field(default_factory=list)
    partition: int | None = None
    timestamp_ms: int | None = None


def from_line(line: bytes, key_separator: str | None) -> OutgoingMessage:
    """Make a message of a line; with a separator, the text before the first one is the key."""
    if key_separator is None:
        return OutgoingMessage(None, line)
    key, found, value = line.partition(key_separator.encode())
    if not found:
        raise ValueError(f"has no key separator {key_separator!r}")
    return OutgoingMessage(key, value)


def from_json(line: bytes) -> OutgoingMessage:
    """Make a message of a JSON object; ValueError with the reason otherwise."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise ValueError('is not an object such as {"key": "a", "value": "b"}')
    if unknown := sorted(set(document) - _KNOWN):
        raise ValueError(f"has unknown members {', '.join(unknown)}")
    return OutgoingMessage(
        _bytes(document, "key"),
        _bytes(document, "value"),
        _headers(document.get("headers") or []),
        _integer(document, "partition", INT32_MAX),
        _integer(document, "timestamp", INT64_MAX),
    )


def _bytes(document: dict[str, Any], name: str) -> bytes | None:
    value, encoded = document.get(name), document.get(f"{name}_base64")
    if encoded is not None:
        if value is not None:
            raise ValueError(f"has both {name} and {name}_base64; leave one out")
        try:
            return base64.b64decode(encoded, validate=True)
        except (ValueError, TypeError) as error:
            raise ValueError(f"has a {name}_base64 that is not base64: {encoded!r}") from error
    if value is None:
        return None
    return _encoded(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:  # half of a surrogate pair, which JSON's escapes can spell
        raise ValueError(f"has text that is not Unicode: {text!r}") from error


def _integer(document: dict[str, Any], name: str, highest: int) -> int | None:
    value = document.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= highest):
        raise ValueError(f"has a {name} that is not a number from 0 to {highest}: {value!r}")
    return value


def _headers(given: object) -> Headers:
    """Parse headers: a list of pairs, or an object if no name occurs twice."""
    if not isinstance(given, dict | list):
        raise ValueError("has headers that are neither an object nor a list of pairs")
    headers: Headers = []
    for pair in given.items() if isinstance(given, dict) else given:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError(f"has a header that is not a pair of name and value: {pair!r}")
        _encoded(pair[0])  # the library takes names as text, and only such text
        headers.append((pair[0], None if pair[1] is None else _encoded(str(pair[1]))))
    return headers


def to_json(message: Any) -> dict[str, Any]:
    """Return a consumed message as an object."""
    _, timestamp = message.timestamp()
    document: dict[str, Any] = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": timestamp,
        **text_fields("key", message.key()),
        **text_fields("value", message.value()),
    }
    if headers := message.headers():
        document["headers"] = [[name, shown(value)] for name, value in headers]
    return document


def to_json_line(message: Any) -> str:
    return json_text(to_json(message))


def text_fields(name: str, value: bytes | None) -> dict[str, str | None]:
    """Return {name: text}, or {name_base64: …} for bytes that are not UTF-8."""
    if value is None:
        return {name: None}
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value).decode()}


def shown(value: bytes | None) -> str | None:
    """Decode bytes for display; those that are not UTF-8 become escapes."""
    return None if value is None else value.decode(errors="backslashreplace")


def to_text(message: Any, verbose: bool) -> str:
    """Format the value; with `verbose` also topic, partition, offset, time, key and headers."""
    value = shown(message.value())
    if not verbose:
        return "" if value is None else value
    _, timestamp = message.timestamp()
    headers = ",".join(f"{name}={shown(item)}" for name, item in _header_list(message))
    parts = [f"{message.topic()}-{message.partition()}@{message.offset()}", f"time={timestamp}"]
    parts += [f"key={shown(message.key())}"] if message.key() is not None else []
    parts += [f"headers={headers}"] if headers else []
    return " ".join([*parts, "value=null" if value is None else f"value={value}"])


def _header_list(message: Any) -> Sequence[tuple[str, bytes | None]]:
    return message.headers() or []
