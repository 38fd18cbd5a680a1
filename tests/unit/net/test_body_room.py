"""Bodies that are under way at an HTTP port take memory of one bound, which users share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.net.http.session_gate import SessionGate
from penstock.node.web_server import WebServer
from penstock.security.access import Access
from tests.support.admission import http_port
from tests.support.name_login import NameLogin

BYTES_MAX = 100_000
PART = bytes(40_000)


class Site:
    """A port whose application reads bodies."""

    def __init__(self, login: NameLogin | None) -> None:
        self.port = replace(http_port(), login=login, bodies_bytes_max=BYTES_MAX)
        self._login = login
        self._read_bytes = 0
        self._has_read = asyncio.Condition()

    def application(self) -> SessionGate:
        return SessionGate(Starlette(routes=[Route("/", self._sink, methods=["POST"])]), Access(), self._login)

    async def _sink(self, request: Request) -> Response:
        async for piece in request.stream():
            async with self._has_read:
                self._read_bytes += len(piece)
                self._has_read.notify_all()
        return Response()

    async def has_read(self, total: int) -> None:
        async with self._has_read:
            await self._has_read.wait_for(lambda: self._read_bytes >= total)

    async def begin(self, name: bytes, length: int, content: bytes) -> Sender:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port.number)
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n" % (name, length)
        writer.write(head + content)
        return Sender(reader, writer)


class Sender:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def status(self, rest: bytes = b"") -> int:
        self._writer.write(rest)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        self._writer.close()
        return int(answer.split()[1])


@asynccontextmanager
async def served(login: NameLogin | None) -> AsyncIterator[Site]:
    site = Site(login)
    server = WebServer(site.port, site.application)
    await server.start()
    try:
        yield site
    finally:
        await server.stop()


def test_bodies_of_one_user_leave_room_for_others() -> None:
    async def scenario() -> None:
        async with served(NameLogin()) as site:
            slow = await site.begin(b"bob", len(PART) + 1, PART)
            await site.has_read(len(PART))
            assert await (await site.begin(b"bob", len(PART) + 1, PART)).status() == 503
            assert await (await site.begin(b"alice", 20_000, bytes(20_000))).status() == 200
            assert await slow.status(b"x") == 200
            assert await (await site.begin(b"bob", len(PART), PART)).status() == 200  # there is room again

    asyncio.run(scenario())


def test_a_port_without_logins_has_the_bound_for_everybody() -> None:
    async def scenario() -> None:
        async with served(None) as site:
            slow = [await site.begin(b"", len(PART) + 1, PART) for _ in range(2)]
            await site.has_read(2 * len(PART))
            assert await (await site.begin(b"", len(PART), PART)).status() == 503
            assert [await each.status(b"x") for each in slow] == [200, 200]
            assert await (await site.begin(b"", len(PART), PART)).status() == 200

    asyncio.run(scenario())
