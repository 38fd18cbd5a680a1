"""Queries that an HTTP port does not take apart."""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from penstock.net.http.allowed_hosts import AllowedHosts
from penstock.net.http.browser_guard import QUERY_PARAMETERS_MAX, BrowserGuard

pytestmark = pytest.mark.feature("F-06")


async def count(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the number of parameters."""
    await Response(str(len(Request(scope).query_params.multi_items())))(scope, receive, send)


def asked(query: bytes) -> tuple[int, bytes]:
    """Status and body of the answer."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("the body is of no interest")

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")], "query_string": query}
    asyncio.run(BrowserGuard(count, AllowedHosts())(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def test_a_query_has_few_parameters() -> None:
    assert asked(b"") == (200, b"0")
    assert asked(b"&".join([b"a=1"] * QUERY_PARAMETERS_MAX)) == (200, b"%d" % QUERY_PARAMETERS_MAX)
    for wrong in (b"&".join([b"a=1"] * (QUERY_PARAMETERS_MAX + 1)), b"&" * 8_000):
        status, body = asked(wrong)
        assert status == 400
        assert b"at most 100 parameters" in body
