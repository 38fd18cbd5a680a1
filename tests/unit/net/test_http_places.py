"""The places of HTTP connections at a port with logins: a client keeps one once it was let in, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.net.http.port import HttpPort
from penstock.net.http.session_gate import SessionGate
from penstock.node.web_server import WebServer
from penstock.security.access import Access
from tests.support.admission import http_port
from tests.support.name_login import NameLogin

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

pytestmark = pytest.mark.feature("F-06")


class Application:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.told = asyncio.Event()
        self.scope: Scope = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.asked.set()
        await self.told.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})


@asynccontextmanager
async def served(application: Application, login: NameLogin | None) -> AsyncIterator[HttpPort]:
    port = replace(http_port(), login=login)
    server = WebServer(port, lambda: SessionGate(application, Access(), login))
    await server.start()
    try:
        yield port
    finally:
        await server.stop()


async def places(login: NameLogin | None, header: bytes) -> tuple[int, int, bytes]:
    """Connections that would give way while a request is served and afterwards, and the answer to it."""
    application = Application()
    async with served(application, login) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.number)
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n")
        await application.asked.wait()
        meanwhile = port.admission.loose_count
        application.told.set()
        answer = await reader.readuntil(b"\r\n\r\n")
        if b"connection: close" in answer.lower():
            assert await reader.read() == b""
        after = port.admission.loose_count
        writer.close()
        return meanwhile, after, answer


@pytest.mark.parametrize(
    ("login", "header", "loose", "closes"),
    [(NameLogin(), b"", 1, True), (NameLogin(), b"Authorization: alice\r\n", 0, False), (None, b"", 0, False)],
    ids=["stranger", "user", "open port"],
)
def test_only_strangers_give_way(login: NameLogin | None, header: bytes, loose: int, closes: bool) -> None:
    meanwhile, after, answer = asyncio.run(places(login, header))
    assert answer.startswith(b"HTTP/1.1 200")
    assert (meanwhile, after) == (loose, 0)
    assert (b"connection: close" in answer.lower()) is closes


def test_a_program_of_the_machine_does_not_choose_its_address() -> None:
    async def scenario() -> None:
        application = Application()
        application.told.set()
        async with served(application, None) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port.number)
            forwarded = b"X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-Proto: https\r\n"
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + forwarded + b"\r\n")
            await reader.readuntil(b"\r\n\r\n")
            writer.close()
        assert (application.scope["client"][0], application.scope["scheme"]) == ("127.0.0.1", "http")

    asyncio.run(scenario())
