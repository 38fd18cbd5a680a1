"""Names in paths and parameters of queries, with their bounds; and moments as a user writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path, Query, Request
from pydantic import AfterValidator, BeforeValidator, Field

from penstock.model.limits import GROUP_ID_BYTES_MAX
from penstock.net.http.parameters import unknown_parameter
from penstock.net.http.session_gate import session_of
from penstock.node.rest.problems import invalid
from penstock.security.session import Session

MILLISECONDS_MAX = 253_402_300_799_999  # the last of the year 9999
OFFSET_MAX = (1 << 63) - 1
INDEX_MAX = (1 << 31) - 1
NAME_LENGTH_MAX = GROUP_ID_BYTES_MAX  # a character may take twelve bytes in a URL, and a header has at most 16 KiB


def _decoded(value: object) -> object:
    """Decode a path, which comes as it was sent. ValueError if it is not UTF-8."""
    return unquote(value, errors="strict") if isinstance(value, str) else value


def _asking(request: Request) -> Session:
    return session_of(request)


Asking = Annotated[Session, Depends(_asking)]
"""The session that asks. It is not in the query: the gate of the port has made it."""

TopicName = Annotated[
    str,
    BeforeValidator(_decoded),
    Path(min_length=1, max_length=249, description="Name of a topic.", examples=["orders"]),
]
GroupName = Annotated[
    str,
    BeforeValidator(_decoded),
    Path(
        min_length=1,
        max_length=NAME_LENGTH_MAX,
        description="Id of a group; a slash in it is %2F.",
        examples=["billing"],
    ),
]
TransactionalId = Annotated[
    str,
    BeforeValidator(_decoded),
    Path(min_length=1, max_length=NAME_LENGTH_MAX, description="A slash in it is %2F.", examples=["copy-1"]),
]
PartitionIndex = Annotated[int, Path(ge=0, le=INDEX_MAX, examples=[0])]
BrokerId = Annotated[int, Path(ge=0, le=INDEX_MAX, examples=[1])]

Limit = Annotated[int, Query(ge=1, le=1_000, description="Maximum number of entries in a page.")]
Cursor = Annotated[
    str | None,
    Query(
        pattern="^[A-Za-z0-9_-]{1,10000}$", description="`next_cursor` of the page before; without one, the first page."
    ),
]
LIMIT = 100

MOMENT_LENGTH_SHOWN = 100
MOMENT_PATTERN = r"^([0-9]{1,15}|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.,]{2,20}(Z|[+-][0-9]{2}:?[0-9]{2})?)?)$"


def milliseconds(moment: str) -> int:
    """ValueError if it is not a time, with a message that is clearer than a pattern."""
    try:
        if not re.fullmatch(MOMENT_PATTERN, moment):
            raise ValueError
        if moment.isdecimal():
            at = int(moment)
            if at > MILLISECONDS_MAX:
                raise ValueError
            return at
        found = datetime.fromisoformat(moment)
        return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        shown = moment[:MOMENT_LENGTH_SHOWN]
        raise ValueError(
            f"{shown!r} is not a time; write 2026-03-01T09:00:00Z, or milliseconds since 1970 as 1772355600000"
        ) from None


def _moment(text: str) -> str:
    milliseconds(text)
    return text


Moment = Annotated[
    str,
    AfterValidator(_moment),
    Field(json_schema_extra={"pattern": MOMENT_PATTERN}, examples=["2026-03-01T09:00:00Z", "1772355600000"]),
]
"""Milliseconds since 1970, or ISO 8601; without a zone it is UTC."""


async def no_unknown_parameters(request: Request) -> None:
    """Refuse a query with a parameter that the path does not have."""
    finding = unknown_parameter(request)
    if finding is not None:
        raise invalid(finding)
