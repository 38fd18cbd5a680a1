"""A bound on the memory of all request bodies that are under way at an HTTP port.

Each body has its own limit; here is the one over all of them. What was read of a body counts until its request is
answered. Where there is no room, or a principal would take more than it leaves to others, the request ends with 503.

Imports the web stack: for modules that are loaded when an application is built, in a thread.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.net.http.session_gate import sharer_in
from penstock.net.http.shares import Shares

_DETAIL: Final = "the bodies of requests that are under way take all memory there is for them; try again in a moment"
_HEADERS: Final = {"Retry-After": "1", "Connection": "close"}  # the rest of the body is not read


class BodyRoom:
    """Middleware around a whole application. It asks who sends a body when the gate within has let the request in."""

    def __init__(self, app: ASGIApp, bytes_max: int) -> None:
        self._app = app
        self._shares = Shares(bytes_max)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        taken: list[int] = []

        async def counted() -> Message:
            message = await receive()
            size = len(message.get("body", b""))
            if size:
                if not self._shares.take(sharer_in(scope), size):
                    raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _DETAIL, _HEADERS)
                taken.append(size)
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            if taken:
                self._shares.give_back(sharer_in(scope), sum(taken))
