"""The application over HTTP, with OpenAPI.

    GET  /messages          by offset, or by key and time; pages with cursors
    GET  /messages/latest   the last message, or the last of a key
    GET  /stats             number of messages, progress
    GET  /segments          the files of the log
    GET  /health            live, ready, connected or not; also /health/live and /health/ready
    POST /refresh           ask the broker for all data again
    GET  /metrics           for Prometheus

Everything but /refresh is answered from the application's own disk, whether there is a broker or not. A query parameter
that a path does not have is refused; probes (/health, /metrics) alone accept any, since load balancers add their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Protocol

from fastapi import Depends, FastAPI, Query, Request, params
from starlette.exceptions import HTTPException
from starlette.responses import Response

from penstock import __version__
from penstock.edge.http.bodies import (
    HealthBody,
    MessageBody,
    MessagesBody,
    RefreshAskedBody,
    SegmentBody,
    SegmentsBody,
    StatsBody,
    StatusBody,
)
from penstock.edge.http.cursors import BEGINNING, TIME_MAX, Position, position_of
from penstock.edge.http.message_json import message_json, page_json, shown_time
from penstock.edge.http.problems import BadQuery, add_handlers, no_unknown_parameters
from penstock.edge.index import Moment
from penstock.edge.reading import Reader
from penstock.edge.store import Store
from penstock.model.errors import KafkaError
from penstock.net.http.login.request_login import RequestLogin
from penstock.net.http.server import WebApplication, documented
from penstock.net.http.session_gate import SessionGate, denied_by_file, is_stranger, on_cluster, session_of
from penstock.security.access import Access
from penstock.security.resources import Operation

LIMIT_DEFAULT = 100
LIMIT_MAX = 1_000
OFFSET_MAX = (1 << 63) - 1
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Offset = Annotated[
    int | None, Query(ge=0, le=OFFSET_MAX, description="The first offset of this application's own log.", examples=[0])
]
_TIME = "milliseconds since 1970, or ISO 8601; without a zone it is UTC."
From = Annotated[str | None, Query(alias="from", description=f"Not before: {_TIME}", examples=["2026-03-02T14:30:00Z"])]
To = Annotated[str | None, Query(description=f"Before: {_TIME}", examples=["1772461860000"])]
Key = Annotated[str | None, Query(description="Only messages with this key, as UTF-8.", examples=["AAPL"])]
Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX, description="Maximum number of messages.")]
Cursor = Annotated[
    str | None, Query(max_length=100_000, description="Of the answer before: goes on from there, with the same query.")
]
MESSAGES_PROBLEMS = documented(HTTPStatus.BAD_REQUEST, HTTPStatus.GONE, HTTPStatus.SERVICE_UNAVAILABLE)
LATEST_PROBLEMS = documented(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE)
CHECKED = [Depends(no_unknown_parameters)]


class EdgeService(Protocol):
    """State, metrics and refresh of the rest of the application."""

    def stats(self) -> StatsBody: ...
    def health(self) -> HealthBody: ...
    def ask_refresh(self) -> str:
        """Ask the broker for a refresh; the outcome in words."""
        ...

    def metrics(self) -> bytes: ...


def edge_app(store: Store, service: EdgeService, access: Access, login: RequestLogin | None = None) -> FastAPI:
    """The application of the port; `login` says who asks."""
    app = WebApplication(
        title="Penstock edge",
        version=__version__,
        description="A copy of a topic that answers while the broker is away.",
    )
    add_handlers(app)
    app.add_exception_handler(KafkaError, denied_by_file)
    app.add_middleware(SessionGate, access=access, login=login)
    _add_messages(app, Reader(store), [*CHECKED, Depends(_on_topic(access, store.state.topic))])
    _add_figures(app, store, service, access)
    return app


def _on_topic(access: Access, topic: str) -> Callable[[Request], Awaitable[None]]:
    """A dependency: the route needs the right to read the topic whose copy this is."""

    async def check(request: Request) -> None:
        access.check_topic(session_of(request), Operation.READ, topic)

    return check


def _add_messages(app: FastAPI, reader: Reader, checks: Sequence[params.Depends]) -> None:
    @app.get(
        "/messages", response_model=MessagesBody, responses=MESSAGES_PROBLEMS, tags=["messages"], dependencies=checks
    )
    async def messages(
        offset: Offset = None,
        from_time: From = None,
        to: To = None,
        key: Key = None,
        limit: Limit = LIMIT_DEFAULT,
        cursor: Cursor = None,
    ) -> Response:
        """Messages by `offset`, in the order in which they were stored; or by `key`, `from` (included) and `to`
        (excluded), in the order of their timestamps. Without any of these: all messages, from the first."""
        asked = _asked(offset, from_time, to, key, cursor)
        page = await reader.page(None if cursor is None else position_of(cursor), asked, limit)
        return await _as_json(page_json, page.messages, page.position.text(), more=page.more)

    @app.get(
        "/messages/latest",
        response_model=MessageBody,
        responses=LATEST_PROBLEMS,
        tags=["messages"],
        dependencies=checks,
    )
    async def latest(key: Key = None) -> Response:
        """The last message of a key, in the order of its source; without a key, the message stored last."""
        message = await reader.latest(None if key is None else key.encode())
        if message is None:
            detail = "there are no messages yet" if key is None else f"there is no message with the key {key}"
            raise HTTPException(HTTPStatus.NOT_FOUND, detail)
        return await _as_json(message_json, message)


async def _as_json(write: Callable[..., str], *values: Any, **named: Any) -> Response:
    """Encode in a thread, because a large page takes a while."""
    return Response(await asyncio.to_thread(lambda: write(*values, **named).encode()), media_type="application/json")


def _asked(offset: int | None, from_time: str | None, to: str | None, key: str | None, cursor: str | None) -> Position:
    """Position that a query asks for; BadQuery if its parameters contradict each other."""
    by_time = {"from": from_time, "to": to, "key": key}
    given = [name for name, value in by_time.items() if value is not None]
    if cursor is not None and (given or offset is not None):
        others = ", ".join(given if offset is None else ["offset", *given])
        raise BadQuery(f"a cursor goes on with its own query: leave out {others}, or leave out cursor")
    if offset is not None and given:
        raise BadQuery(
            f"offset reads the log in its order, {' and '.join(given)} in the order of time: leave out either of them"
        )
    if not given:
        return Position(generation="", order="offset", offset=offset or 0)
    first, before = _milliseconds("from", from_time), _milliseconds("to", to)
    if first is not None and before is not None and first >= before:
        raise BadQuery("from is not before to: swap them, or make to later; to itself is excluded")
    return Position(
        generation="",
        order="time",
        after=BEGINNING if first is None else Moment(first, -1),
        before_ms=TIME_MAX if before is None else before,
        key=None if key is None else key.encode(),
    )


def _milliseconds(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if text.lstrip("-").isdecimal():
        number = int(text)
        if abs(number) < TIME_MAX:
            return number
    try:
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        # In a query a plus is a space, and so the zone of a time is often lost.
        hint = "; write + as %2B" if " " in text else ""
        raise BadQuery(
            f"{name} is {text!r}: give milliseconds since 1970, or a time such as 2026-03-02T14:30:00Z{hint}"
        ) from None


def _add_figures(app: FastAPI, store: Store, service: EdgeService, access: Access) -> None:
    to_see = Depends(on_cluster(access, Operation.DESCRIBE))

    def may_see(request: Request) -> bool:
        return not is_stranger(request) and access.shows_cluster(session_of(request), Operation.DESCRIBE)

    @app.get("/stats", tags=["figures"], dependencies=[*CHECKED, to_see])
    async def stats() -> StatsBody:
        return service.stats()

    @app.get("/segments", tags=["figures"], dependencies=[*CHECKED, to_see])
    async def segments() -> SegmentsBody:
        data = store.active.data
        found = data.segments
        bodies = [
            SegmentBody(
                base_offset=segment.base_offset,
                end_offset=segment.end_offset,
                size_bytes=segment.size,
                first_time=shown_time(segment.first_timestamp),
                last_time=shown_time(segment.largest_timestamp),
                active=segment is found[-1],
                file=segment.path.name,
            )
            for segment in found
        ]
        return SegmentsBody(generation=store.active.identity.number, segments=bodies)

    @app.get("/health", tags=["figures"], responses=_unready())
    async def health(request: Request, response: Response) -> HealthBody | StatusBody:
        return _shown_health(service.health(), may_see(request), response)

    @app.get("/health/ready", tags=["figures"], responses=_unready())
    async def ready(request: Request, response: Response) -> HealthBody | StatusBody:
        return _shown_health(service.health(), may_see(request), response)

    @app.get("/health/live", tags=["figures"])
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.post(
        "/refresh",
        status_code=HTTPStatus.ACCEPTED,
        tags=["data"],
        dependencies=[*CHECKED, Depends(on_cluster(access, Operation.ALTER))],
    )
    async def refresh() -> RefreshAskedBody:
        """Ask the broker to send all data again, into a new generation; the old one answers until that is complete."""
        return RefreshAskedBody(status="asked", detail=service.ask_refresh())

    @app.get("/metrics", tags=["figures"], response_class=Response, dependencies=[to_see])
    async def metrics() -> Response:
        return Response(service.metrics(), media_type=METRICS_TYPE)


def _unready() -> dict[int | str, dict[str, Any]]:
    return {503: {"description": "Not ready", "model": HealthBody}}


def _shown_health(body: HealthBody, with_details: bool, response: Response) -> HealthBody | StatusBody:
    """The status for everybody, the details for sessions that may describe the cluster."""
    if not body.ready:
        response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    return body if with_details else StatusBody(status=body.status)
