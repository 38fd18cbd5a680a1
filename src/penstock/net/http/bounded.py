"""A bound on the requests of an application that are under way at a time.

A request counts until the client has taken its answer but for a few kilobytes: answers that are not read are memory,
too. Those above the bound are answered with 503 and told to come back.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from penstock.net.http.problem import Header, send_problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

RETRY_AFTER: Final[Header] = (b"retry-after", b"1")


class Bounded:
    """`requests_max` is the most requests at a time; `name` is what they are called in the answer to others."""

    def __init__(self, app: ASGIApp, requests_max: int, name: str) -> None:
        self.app = app
        self._requests_max = requests_max
        self._name = name
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.under_way >= self._requests_max:
            detail = f"{self.under_way} {self._name} are under way, which is the most; try again in a moment"
            await send_problem(send, HTTPStatus.SERVICE_UNAVAILABLE, detail, scope["path"], [RETRY_AFTER])
            return
        self.under_way += 1
        try:
            await self.app(scope, receive, until_sent(send))
        finally:
            self.under_way -= 1


def until_sent(send: Send) -> Send:
    """The same `send`, which returns from the last piece of an answer when the client has taken nearly all of it."""

    async def send_all(message: Message) -> None:
        if message["type"] == "http.response.body" and message.get("body") and not message.get("more_body"):
            await send({**message, "more_body": True})
            message = {"type": "http.response.body"}  # before this piece the server waits for those before it
        await send(message)

    return send_all
