"""Messages as a handler gets them, made by hand."""

from __future__ import annotations

from penstock.client.push.message import Message


def message(
    offset: int = 0, body: bytes | None = b"", *, partition: int = 0, key: bytes | None = None, properties: bytes = b""
) -> Message:
    return Message("group", "topic", 1, partition, 1, key, offset, 0, properties, body)
