"""Headers of an HTTP port with very many lines: refused before they are taken apart, and nothing else is counted."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h11
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.net.http.chunked_bodies import TurnedConnection
from penstock.net.http.connection import HttpConnection
from penstock.net.http.header_lines import HEADER_BYTES_MAX, HEADER_LINES_MAX
from penstock.node.web_server import WebServer
from tests.support.admission import http_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-06")

DEADLINE_S = 60.0
SECONDS_MAX = 0.002
"""Of the loop for a header of 4,000 lines, which takes 15 ms to take apart."""
START = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
MOST = START + b"a:\r\n" * (HEADER_LINES_MAX - 2) + b"Content-Length: 0\r\n\r\n"
LINES = b"\n" * 5_000
FOLDED = b"a: b\r\n" + b" \r\n" * 4_000
TOO_MANY = {
    "lines": START + b"a:\r\n" * (HEADER_LINES_MAX + 1) + b"\r\n",
    "thousands of lines": START + b"a:\r\n" * 4_000 + b"\r\n",
    "thousands that never end": START + b"a:\r\n" * 4_000,
    "lines that end in line feeds": START + b"a:\n" * 4_000 + b"\n",
    "lines that are folded": START + FOLDED + b"\r\n",
    "lines behind a long one": START + b"x: " + b"x" * HEADER_BYTES_MAX + b"\r\n" + b"a:\r\n" * 15_000 + b"\r\n",
    "bytes": START + b"x: " + b"x" * HEADER_BYTES_MAX + b"\r\n\r\n",
}


def connection() -> TurnedConnection:
    return TurnedConnection(HEADER_BYTES_MAX)


@pytest.mark.parametrize("sent", TOO_MANY.values(), ids=list(TOO_MANY))
def test_too_long_a_header_is_refused_before_it_is_taken_apart(sent: bytes) -> None:
    """The quickest of many, on a processor: a busy machine changes nothing."""
    times = []
    for _ in range(10):
        refused = connection()
        began = time.thread_time()
        refused.receive_data(sent)
        with pytest.raises(h11.RemoteProtocolError):
            refused.next_event()
        times.append(time.thread_time() - began)
        assert refused.has_long_header
    assert min(times) < SECONDS_MAX


def test_lines_are_counted_as_they_come() -> None:
    slow = connection()
    slow.receive_data(START)
    for _ in range(HEADER_LINES_MAX - 1):
        assert slow.next_event() is h11.NEED_DATA
        slow.receive_data(b"a:\r\n")
    assert slow.next_event() is h11.NEED_DATA
    slow.receive_data(b"a:\r\na:\r\n")
    with pytest.raises(h11.RemoteProtocolError):
        slow.next_event()


def test_other_bytes_that_are_no_request_are_not_taken_for_a_long_header() -> None:
    for sent in (b"\x16\x03\x01" + LINES, b"\r\n" + LINES, b"GET\r\n\r\n"):
        wrong = connection()
        wrong.receive_data(sent)
        with pytest.raises(h11.RemoteProtocolError):
            wrong.next_event()
        assert not wrong.has_long_header


def test_the_trailer_of_a_chunked_body_has_few_lines_too() -> None:
    behind = connection()
    behind.receive_data(START + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"a:\r\n" * 4_000 + b"\r\n")
    assert type(behind.next_event()) is h11.Request
    behind.begin_turn()
    with pytest.raises(h11.RemoteProtocolError):
        behind.next_event()
    assert behind.has_long_header


async def lines(request: Request) -> Response:
    """Answer with the line feeds of the body."""
    return Response(str((await request.body()).count(b"\n")))


@asynccontextmanager
async def served() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    port = http_port()
    server = WebServer(port, lambda: Starlette(routes=[Route("/", lines, methods=["POST"])]))
    await server.start()
    try:
        async with asyncio.timeout(DEADLINE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port.number)
            yield reader, writer
            writer.close()
    finally:
        await server.stop()


async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    header = await reader.readuntil(b"\r\n\r\n")
    length = int(header.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    return int(header.split()[1]), await reader.readexactly(length)


def test_the_answer_is_431_and_the_end_of_the_connection() -> None:
    async def scenario() -> None:
        async with served() as (reader, writer):
            writer.write(MOST + TOO_MANY["lines"])
            assert await answer(reader) == (200, b"0")
            status, body = await answer(reader)
            assert status == 431
            assert json.loads(body)["detail"] == f"a header has at most {HEADER_LINES_MAX} lines and 16384 bytes"
            assert await reader.read() == b""

    asyncio.run(scenario())


def test_nothing_is_kept_of_a_connection_that_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector comes rarely: until then a crowd would leave its headers behind."""
    made: list[weakref.ref[HttpConnection]] = []
    begin = HttpConnection.connection_made

    def noted(self: HttpConnection, transport: asyncio.Transport) -> None:
        made.append(weakref.ref(self))
        begin(self, transport)

    monkeypatch.setattr(HttpConnection, "connection_made", noted)

    async def scenario() -> None:
        async with served() as (reader, writer):
            writer.write(TOO_MANY["lines"])
            assert (await answer(reader))[0] == 431
            await asyncio.to_thread(wait_until, lambda: made[0]() is None, what="the connection is gone")

    gc.disable()
    try:
        asyncio.run(scenario())
    finally:
        gc.enable()


def test_bodies_and_requests_behind_each_other_are_not_counted() -> None:
    chunk = b"%x\r\n%s\r\n" % (len(LINES), LINES)
    chunked = START + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n"
    known = START + b"Content-Length: %d\r\n\r\n" % len(LINES) + LINES

    async def scenario() -> None:
        async with served() as (reader, writer):
            writer.write(known + MOST * 300 + chunked + MOST + chunked * 2 + known)
            expected = [len(LINES), *[0] * 300, len(LINES), 0, len(LINES), len(LINES), len(LINES)]
            assert [await answer(reader) for _ in expected] == [(200, b"%d" % count) for count in expected]

    asyncio.run(scenario())
