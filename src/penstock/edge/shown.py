"""Bytes as an answer shows them: as JSON if they are that, else as text, else as base64, and which of these it is."""

from __future__ import annotations

import base64
import json
from typing import Any, Literal

Encoding = Literal["json", "text", "base64", "null"]


def shown_body(body: bytes | None) -> tuple[Any, Encoding]:
    if body is None:
        return None, "null"
    text, encoding = shown_text(body)
    if encoding != "text":
        return text, encoding
    try:
        return json.loads(body, parse_constant=_no_number), "json"
    except (ValueError, RecursionError):
        return text, "text"


def shown_text(data: bytes | None) -> tuple[str | None, Encoding]:
    """For keys and properties, which are never taken for JSON."""
    if data is None:
        return None, "null"
    try:
        return data.decode(), "text"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode(), "base64"


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
