"""Requests that are wrong as bytes, which no encoder would write."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from tests.support.wire import API_KEYS, encode_body, encode_header, encode_request, request_schema

CORRELATION_ID = 1_000


def truncated(api: str, version: int, body: Mapping[str, Any]) -> bytes:
    """A request whose last byte is missing."""
    return encode_request(api, version, CORRELATION_ID, body)[:-1]


def followed_by(api: str, version: int, body: Mapping[str, Any], rest: bytes) -> bytes:
    return encode_request(api, version, CORRELATION_ID, body) + rest


def with_body(api: str, version: int, body: bytes) -> bytes:
    """A right header with any bytes behind it."""
    return with_header(api, version, body, flexible=is_flexible(api, version))


def with_header(api: str, version: int, body: bytes, *, flexible: bool) -> bytes:
    return encode_header(API_KEYS[api], version, CORRELATION_ID, client_id="wire", flexible=flexible) + body


def with_unknown_tag(api: str, version: int, body: Mapping[str, Any]) -> bytes:
    """A tagged field 77 of two bytes at the end, which a flexible version must pass over."""
    assert is_flexible(api, version)
    encoded = encode_body(api, version, body)
    assert encoded.endswith(b"\x00"), "the body has tagged fields of its own"
    return with_body(api, version, encoded[:-1] + b"\x01\x4d\x02ab")


def of_version(api: str, version: int) -> bytes:
    """A header of a version that may not exist, and a few bytes."""
    return encode_header(API_KEYS[api], version, CORRELATION_ID, flexible=True) + bytes(8)


def old_produce(version: int, topic: str, records: bytes, *, acks: int) -> bytes:
    """Produce v0-2, which no schema has any more: one partition of one topic."""
    name = topic.encode()
    body = struct.pack(">hiih", acks, 10_000, 1, len(name)) + name
    body += struct.pack(">iii", 1, 0, len(records)) + records
    return with_header("produce", version, body, flexible=False)


def is_flexible(api: str, version: int) -> bool:
    return bool(request_schema(api, version).__flexible__)
