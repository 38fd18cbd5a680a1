"""Requests and answers of the load generators, by hand: thousands a second cost next to nothing.

Produce v7 is `produce_frame` of tests/scale; here are fetches v11, with and without a session, and what the generators
have to know of the answers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.support.wire import API_KEYS, encode_header, encode_request, frame

FETCH_VERSION = 11
NO_SESSION = (0, -1)
API_VERSIONS = frame(encode_request("api_versions", 0, 1, {}))

_PARTITION = struct.Struct(">iiqqi")
_ANSWERED_PARTITION = struct.Struct(">ihqqqi")
_INT32 = struct.Struct(">i")


class Fetched(NamedTuple):
    """One partition of an answer; `next_offset` is behind its last batch, -1 without one."""

    topic: str
    partition: int
    error: int
    next_offset: int
    size: int


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def fetch_frame(
    topic: str,
    offsets: Iterable[tuple[int, int]],
    *,
    session: tuple[int, int] = NO_SESSION,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
) -> bytes:
    """A fetch of some partitions of one topic: (partition, offset) each."""
    wanted = [_PARTITION.pack(index, -1, offset, -1, max_bytes) for index, offset in offsets]
    head = encode_header(API_KEYS["fetch"], FETCH_VERSION, 1, client_id=None)
    body = struct.pack(">iiiibii", -1, max_wait_ms, min_bytes, max_bytes, 0, *session)
    if wanted:
        body += _INT32.pack(1) + _string(topic) + _INT32.pack(len(wanted)) + b"".join(wanted)
    else:
        body += _INT32.pack(0)
    return frame(head + body + _INT32.pack(0) + _string(""))


def fetch_head(answer: bytes) -> tuple[int, int]:
    """Error code and session id."""
    error, session = struct.unpack_from(">hi", answer, 8)
    return int(error), int(session)


def fetched(answer: bytes) -> Iterator[Fetched]:
    """The partitions of an answer without its size."""
    position = 14
    (topics,) = _INT32.unpack_from(answer, position)
    position += 4
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", answer, position)
        topic = answer[position + 2 : position + 2 + length].decode()
        position += 2 + length
        (partitions,) = _INT32.unpack_from(answer, position)
        position += 4
        for _ in range(partitions):
            index, error, _, _, _, aborted = _ANSWERED_PARTITION.unpack_from(answer, position)
            position += _ANSWERED_PARTITION.size + max(aborted, 0) * 16 + 4
            (size,) = _INT32.unpack_from(answer, position)
            position += 4
            yield Fetched(topic, index, error, _behind(answer, position, size), size)
            position += max(size, 0)


def _behind(answer: bytes, position: int, size: int) -> int:
    end, offset = position + size, -1
    while position + 61 <= end:
        base, length = struct.unpack_from(">qi", answer, position)
        position += 12 + length
        if position <= end:
            (delta,) = _INT32.unpack_from(answer, position - 12 - length + 23)
            offset = base + delta + 1
    return offset
