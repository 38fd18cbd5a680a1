"""Long lists in pages: a limited number of names after a cursor, which is opaque to callers.

Pages go by name, so nothing shifts when names are created or deleted between two of them.
"""

from __future__ import annotations

import base64
import binascii
import heapq
import json
from collections.abc import Iterable

from penstock.node.rest.problems import invalid
from penstock.runtime.turns import Turns

_AT_ONCE = 1_000


def to_cursor(*key: str | int) -> str:
    return (
        base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":"), ensure_ascii=False).encode())
        .decode()
        .rstrip("=")
    )


def name_after(cursor: str | None) -> str | None:
    """The name behind which a page begins. KafkaError INVALID_REQUEST for an invalid cursor."""
    if cursor is None:
        return None
    match _key(cursor):
        case [str(name)]:
            return name
    raise _no_cursor()


def place_after(cursor: str | None) -> tuple[str, int] | None:
    """The same of a list of partitions of topics."""
    if cursor is None:
        return None
    match _key(cursor):
        case [str(topic), int(partition)]:
            return topic, partition
    raise _no_cursor()


def index_after(cursor: str | None) -> int:
    """The same of a list of partitions of one topic; -1 for the first page."""
    if cursor is None:
        return -1
    match _key(cursor):
        case [int(partition)] if 0 <= partition < 1 << 31:
            return partition
    raise _no_cursor()


def _key(cursor: str) -> object:
    try:
        return json.loads(base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        raise _no_cursor() from None


def _no_cursor() -> Exception:
    return invalid("that is not a cursor of this list; take next_cursor of the page before, or none for the first page")


async def first_names(names: Iterable[str], after: str | None, count: int) -> list[str]:
    """The first names behind `after` in their order; others run meanwhile."""
    turns, found = Turns(), []
    for name in names:
        if after is None or name > after:
            found.append(name)
        if len(found) >= count + _AT_ONCE:
            found = heapq.nsmallest(count, found)
        await turns.pause()
    return heapq.nsmallest(count, dict.fromkeys(found))
