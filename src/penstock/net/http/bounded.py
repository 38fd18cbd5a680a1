"""A bound on the requests of an application that are under way at a time.

A request counts until the client has taken its answer but for a few kilobytes: answers that are not read are memory,
too. Those above the bound are answered with 503 and told to come back, as are those of a principal that leaves too few
to others: a user without rights cannot keep an administrator out.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from penstock.net.http.problem import Header, send_problem
from penstock.net.http.session_gate import sharer_in
from penstock.net.http.shares import Shares

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

RETRY_AFTER: Final[Header] = (b"retry-after", b"1")


class Bounded:
    """`requests_max` is the most requests at a time; `name` is what they are called in the answer to others."""

    def __init__(self, app: ASGIApp, requests_max: int, name: str) -> None:
        self.app = app
        self._shares = Shares(requests_max)
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = sharer_in(scope)
        if not self._shares.take(who):
            detail = f"too many {self._name} are under way, {self._shares.taken} in all; try again in a moment"
            await send_problem(send, HTTPStatus.SERVICE_UNAVAILABLE, detail, scope["path"], [RETRY_AFTER])
            return
        try:
            await self.app(scope, receive, until_sent(send))
        finally:
            self._shares.give_back(who)


def until_sent(send: Send) -> Send:
    """The same `send`, which returns from the last piece of an answer when the client has taken nearly all of it."""

    async def send_all(message: Message) -> None:
        if message["type"] == "http.response.body" and message.get("body") and not message.get("more_body"):
            await send({**message, "more_body": True})
            message = {"type": "http.response.body"}  # before this piece the server waits for those before it
        await send(message)

    return send_all
