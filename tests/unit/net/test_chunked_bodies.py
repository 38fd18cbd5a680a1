"""Chunked bodies at an HTTP port: parsed when the application asks for them, and a little at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

import h11
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.net.http.chunked_bodies import TurnedConnection
from penstock.net.http.session_gate import SessionGate
from penstock.node.web_server import WebServer
from penstock.security.access import Access
from tests.support.admission import http_port
from tests.support.name_login import NameLogin

pytestmark = pytest.mark.feature("F-06")

HEADER = b"Host: localhost\r\nTransfer-Encoding: chunked\r\n"
KNOWN = b"Authorization: alice\r\n"
SMALL, END = b"1\r\nx\r\n", b"0\r\n\r\n"
COUNT = 20_000
"""Chunks that h11 parses in many turns, on any machine."""
DEADLINE_S = 60.0


class Client(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, path: bytes, headers: bytes, body: bytes) -> None:
        self.writer.write(b"POST %s HTTP/1.1\r\n" % path + HEADER + headers + b"\r\n" + body)

    async def answer(self) -> tuple[int, bytes]:
        """Status and body."""
        header = await self.reader.readuntil(b"\r\n\r\n")
        length = int(header.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        return int(header.split()[1]), await self.reader.readexactly(length)


async def read(request: Request) -> Response:
    """Answer with the length of the body, and how often others had a turn while it came."""
    turns, length = 0, 0
    ended = asyncio.Event()

    async def other() -> None:
        nonlocal turns
        while not ended.is_set():
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(other())
    async for piece in request.stream():
        length += len(piece)
    ended.set()
    await others
    return Response(f"{length} {turns}")


async def ignore(_: Request) -> Response:
    return Response("ignored")


@asynccontextmanager
async def served() -> AsyncIterator[Client]:
    """A connection to a port with logins."""
    routes = [Route("/read", read, methods=["POST"]), Route("/ignore", ignore, methods=["POST"])]
    port = replace(http_port(), login=NameLogin())
    server = WebServer(port, lambda: SessionGate(Starlette(routes=routes), Access(), port.login))
    await server.start()
    try:
        async with asyncio.timeout(DEADLINE_S):
            client = Client(*await asyncio.open_connection("127.0.0.1", port.number))
            yield client
            client.writer.close()
    finally:
        await server.stop()


def test_others_have_their_turns_between_very_many_chunks() -> None:
    async def scenario() -> None:
        async with served() as client:
            client.send(b"/read", KNOWN, SMALL * COUNT + END)
            status, body = await client.answer()
            length, turns = map(int, body.split())
            assert (status, length) == (200, COUNT)
            assert turns > 10

    asyncio.run(scenario())


def test_the_body_of_a_request_that_is_refused_is_not_parsed() -> None:
    async def scenario() -> None:
        async with served() as client:
            client.send(b"/read", b"", b"this is no chunk\r\n")
            status, _ = await client.answer()
            assert status == 401
            assert await client.reader.read() == b""

    asyncio.run(scenario())


def test_a_body_that_is_not_read_is_skipped() -> None:
    async def scenario() -> None:
        async with served() as client:
            client.send(b"/ignore", KNOWN, SMALL * COUNT + END)
            assert await client.answer() == (200, b"ignored")
            client.send(b"/ignore", KNOWN, END)
            assert await client.answer() == (200, b"ignored")

    asyncio.run(scenario())


def test_requests_one_behind_the_other() -> None:
    async def scenario() -> None:
        async with served() as client:
            for _ in range(3):
                client.send(b"/read", KNOWN, b"5\r\nhello\r\n" + END)
            for _ in range(3):
                status, body = await client.answer()
                assert (status, body.split()[0]) == (200, b"5")

    asyncio.run(scenario())


def test_a_body_that_comes_byte_by_byte_and_only_when_it_is_asked_for() -> None:
    async def scenario() -> None:
        async with served() as client:
            client.send(b"/read", KNOWN + b"Expect: 100-continue\r\n", b"")
            assert (await client.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
            for byte in SMALL * 3 + END:
                client.writer.write(bytes([byte]))
                await client.writer.drain()
            status, body = await client.answer()
            assert (status, body.split()[0]) == (200, b"3")

    asyncio.run(scenario())


def test_a_chunk_that_is_none() -> None:
    async def scenario() -> None:
        async with served() as client:
            client.send(b"/read", KNOWN, SMALL + b"this is no chunk\r\n")
            status, _ = await client.answer()
            assert status == 400
            assert await client.reader.read() == b""

    asyncio.run(scenario())


def test_events_of_a_chunked_body_belong_to_a_turn() -> None:
    connection = TurnedConnection(1_000)
    connection.receive_data(b"POST / HTTP/1.1\r\n" + HEADER + b"\r\n" + SMALL + END)
    connection.begin_turn()  # of the request before
    assert type(connection.next_event()) is h11.Request
    assert connection.next_event() is h11.NEED_DATA
    assert connection.end_turn()
    events: list[type] = []
    while connection.is_chunked:
        connection.begin_turn()
        event = connection.next_event()
        events += [] if event is h11.NEED_DATA else [type(event)]
        connection.end_turn()
    assert events == [h11.Data, h11.EndOfMessage]
