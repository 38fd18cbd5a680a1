"""Messages as an answer shows them, in JSON: bytes as JSON if they are that, else as text, else as base64, and which of
these it is.

A body that is JSON stands in the answer as it is, byte for byte, and is not encoded again: numbers keep their digits.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

from penstock.edge.messages import Stored

Encoding = Literal["json", "text", "base64", "null"]
_dump = json.JSONEncoder(separators=(",", ":")).encode


def message_json(message: Stored) -> str:
    """Return a message as the JSON that `bodies.MessageBody` describes."""
    key, key_encoding = shown_text(message.key)
    body, body_encoding = shown_body(message.body)
    document = {
        "offset": message.offset,
        "partition": message.place.partition,
        "source_offset": message.place.offset,
        "timestamp": message.timestamp,
        "time": shown_time(message.timestamp),
        "key": key,
        "key_encoding": key_encoding,
        "body_encoding": body_encoding,
        "properties": [_shown_property(name, value) for name, value in message.headers],
    }
    return f'{_dump(document)[:-1]},"body":{body}}}'


def page_json(messages: Iterable[Stored], cursor: str, *, more: bool) -> str:
    listed = ",\n".join(map(message_json, messages))
    return f'{{"messages":[{listed}],"cursor":{_dump(cursor)},"more":{_dump(more)}}}\n'


def shown_body(body: bytes | None) -> tuple[str, Encoding]:
    """JSON, whatever it is."""
    if body is None:
        return "null", "null"
    text, encoding = shown_text(body)
    assert text is not None
    if encoding == "text":
        try:
            json.loads(text, parse_constant=_refuse, parse_float=_float)
            return text, "json"
        except (ValueError, RecursionError):
            pass
    return _dump(text), encoding


def shown_text(data: bytes | None) -> tuple[str | None, Encoding]:
    """Return a key or property as text, which is never taken for JSON, and how it is encoded."""
    if data is None:
        return None, "null"
    try:
        return data.decode(), "text"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode(), "base64"


def shown_time(timestamp_ms: int) -> str | None:
    """The time in ISO 8601; None for values outside the calendar, -1 among them."""
    if timestamp_ms < 0:
        return None
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown_property(name: str, value: bytes | None) -> dict[str, Any]:
    text, encoding = shown_text(value)
    return {
        "name": name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        "value": text,
        "encoding": encoding,
    }


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _float(text: str) -> float:
    """Refuse numbers that are too large: readers would take them for infinity, or refuse them."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value
