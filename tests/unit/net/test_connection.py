"""Connections over real sockets, with a service that answers in every way a service can."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast

import pytest
import uvloop

from penstock.net.admission.ticket import Ticket
from penstock.net.connection.connection import Connection
from penstock.net.connection.shared import ConnectionLimits
from penstock.net.endpoint import Endpoint
from penstock.net.flow_control import FlowControl
from penstock.net.listener import Listener, ListenerOptions, bind
from penstock.net.reply import Buffers, Reply
from penstock.net.service import Stream
from penstock.observability.metrics import BrokerMetrics
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.protocol.push.messages import Subscribe, encode
from penstock.protocol.recognition import is_push
from penstock.security.session import Session
from penstock.security.tls.certificates import Certificates
from tests.support.admission import open_door

LIMITS = ConnectionLimits(
    frame_bytes_max=4 << 20, in_flight_max=8, queued_bytes_max=1 << 20, unread_bytes_max=256 << 10
)


HANDSHAKE_MS_MAX = 10_000


class Tls(NamedTuple):
    """The two sides of an encrypted listener."""

    certificates: Certificates
    client: ssl.SSLContext


class Service:
    """Answers a request by its first word: now, later (pending), slow (coroutine), decoded (a coroutine that does not
    need the frame), none, bad, bug.

    "mute 0.2" is answered now, and mutes its connection for so long; "login" logs in, if clients have to,
    and "heard" is all that a client sends for it.
    """

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.later: list[tuple[Reply, bytes]] = []
        self.gate = asyncio.Event()
        self.abandoned = 0
        self.delays: dict[str, float] = {}
        self.closed = 0
        self.needs_no_login = True

    def connected(self, stream: Stream) -> ServiceChannel:
        return ServiceChannel(self, stream)

    def serve(self, frame: memoryview, stream: Stream) -> Reply:
        text = bytes(frame)
        self.seen.append(text)
        word = text.split(b" ", 1)[0]
        if word == b"later":
            reply = Reply()
            reply.on_abandon = self._abandon
            self.later.append((reply, text))
            return reply
        if word == b"decoded":
            stream.frame_decoded()
        if word in (b"slow", b"decoded"):
            return Reply.when(self._slow(text))
        if word == b"none":
            return Reply.none()
        if word == b"bad":
            raise MalformedRequest("bad on purpose")
        if word == b"bug":
            raise RuntimeError("bug on purpose")
        if word == b"heard":
            stream.heard()
        if word == b"login":
            stream.authenticated()
        if word == b"mute":
            stream.mute(float(text.split(b" ")[1]))
        if word == b"big":
            return Reply.now([bytes(int(text.split(b" ")[1]))])
        return Reply.now([text])

    async def _slow(self, text: bytes) -> Buffers:
        await self.gate.wait()
        return [text]

    def _abandon(self) -> None:
        self.abandoned += 1

    def refusal_delay(self, host: str) -> float:
        return self.delays.get(host, 0.0)

    def answered(self, api_key: int, seconds: float) -> None:
        assert seconds >= 0


class ServiceChannel:
    """One connection to a `Service`."""

    def __init__(self, service: Service, stream: Stream) -> None:
        self._service = service
        self._stream = stream
        self.is_authenticated = service.needs_no_login
        self.session = Session("TEST", stream.peer.host)

    def serve(self, frame: memoryview) -> Reply:
        return self._service.serve(frame, self._stream)

    def closed(self) -> None:
        self._service.closed += 1


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *texts: bytes) -> None:
        self.writer.write(b"".join(struct.pack(">i", len(text)) + text for text in texts))

    async def receive(self) -> bytes:
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)


Connect = Callable[[], Awaitable[Client]]


@asynccontextmanager
async def served(
    limits: ConnectionLimits = LIMITS,
    connections_max: int = 100,
    held_bytes_max: int = 64 << 20,
    socket_buffer_bytes: int = 0,
    idle_ms_max: int = 60_000,
    service: Service | None = None,
    tls: Tls | None = None,
    host: str = "127.0.0.1",
) -> AsyncIterator[tuple[Service, Listener, Connect]]:
    service = service or Service()
    options = ListenerOptions(
        host=host,
        port=0,
        backlog=16,
        receive_buffer_bytes=socket_buffer_bytes,
        send_buffer_bytes=socket_buffer_bytes,
        idle_ms_max=idle_ms_max,
        connection=limits,
        certificates=None if tls is None else tls.certificates,
        handshake_ms_max=HANDSHAKE_MS_MAX,
    )
    listener = Listener(
        options, service, FlowControl(held_bytes_max), BrokerMetrics(), open_door(connections_max=connections_max)
    )
    await listener.start(bind(options))
    clients: list[Client] = []

    async def connect() -> Client:
        sock = socket.create_connection(("127.0.0.1", listener.port))
        if socket_buffer_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, socket_buffer_bytes)
        if tls is None:
            client = Client(*await asyncio.open_connection(sock=sock, limit=1024))
        else:
            name = "127.0.0.1"
            opened = await asyncio.open_connection(sock=sock, limit=1024, ssl=tls.client, server_hostname=name)
            client = Client(*opened)
        clients.append(client)
        return client

    try:
        yield service, listener, connect
    finally:
        for client in clients:
            client.writer.close()
        listener.stop_accepting()
        await listener.drain(0.1)


def run(test: Coroutine[Any, Any, None]) -> None:
    uvloop.run(asyncio.wait_for(test, 20))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - any condition, not an event
            await asyncio.sleep(0.005)


@pytest.mark.feature("F-01")
def test_answers_leave_in_the_order_of_the_requests_however_they_complete() -> None:
    async def scenario() -> None:
        async with served() as (service, _, connect):
            client = await connect()
            client.send(b"later 1", b"now 2", b"later 3", b"none", b"now 4")
            await until(lambda: len(service.seen) == 5)
            for pending, text in reversed(service.later):
                pending.complete([text])
            assert [await client.receive() for _ in range(4)] == [b"later 1", b"now 2", b"later 3", b"now 4"]

    run(scenario())


def test_a_coroutine_holds_up_the_requests_behind_it_on_its_connection_only() -> None:
    async def scenario() -> None:
        async with served() as (service, _, connect):
            first, second = await connect(), await connect()
            first.send(b"slow 1", b"now 2")
            await until(lambda: b"slow 1" in service.seen)
            second.send(b"now 3")
            assert await second.receive() == b"now 3"
            assert b"now 2" not in service.seen
            service.gate.set()
            assert [await first.receive(), await first.receive()] == [b"slow 1", b"now 2"]

    run(scenario())


def test_frames_arrive_whole_however_the_bytes_are_cut() -> None:
    async def scenario() -> None:
        async with served() as (_, _, connect):
            client = await connect()
            texts = [b"now a", b"now " + bytes(3_000_000), b"now b"]
            data = b"".join(struct.pack(">i", len(text)) + text for text in texts)
            for start in (0, 1, 2, 3, 5, 8, 13, 15, 100, 5_000, 300_000, 1_500_000):
                following = [n for n in (1, 2, 3, 5, 8, 13, 15, 100, 5_000, 300_000, 1_500_000, len(data)) if n > start]
                client.writer.write(data[start : following[0]])
                await client.writer.drain()
                await asyncio.sleep(0)
            assert [await client.receive() for _ in texts] == texts

    run(scenario())


@pytest.mark.feature("F-06")
@pytest.mark.parametrize(
    "data",
    [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", -5), struct.pack(">i", (4 << 20) + 1), struct.pack(">i", 3) + b"bad"],
)
def test_what_is_no_request_closes_its_connection_and_no_other(data: bytes) -> None:
    async def scenario() -> None:
        async with served() as (_, _, connect):
            good, bad = await connect(), await connect()
            bad.writer.write(data)
            assert await bad.reader.read() == b""
            good.send(b"now")
            assert await good.receive() == b"now"

    run(scenario())


def test_a_bug_in_the_service_closes_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with served() as (_, _, connect):
            client = await connect()
            client.send(b"bug")
            assert await client.reader.read() == b""

    run(scenario())
    assert "bug on purpose" in caplog.text


@pytest.mark.feature("F-06")
def test_a_client_that_does_not_read_stops_being_read() -> None:
    async def scenario() -> None:
        async with served() as (service, _, connect):
            client = await connect()
            client.send(*[b"big 200000"] * 400)
            await until(lambda: len(service.seen) >= 3)
            before = -1
            while before != len(service.seen):
                before = len(service.seen)
                await asyncio.sleep(0.1)
            assert len(service.seen) < 300, "80 MB of answers were prepared for a client that reads nothing"
            for _ in range(400):
                assert len(await client.receive()) == 200_000

    run(scenario())


@pytest.mark.feature("F-06")
def test_requests_above_the_limit_in_flight_wait_and_are_all_answered() -> None:
    async def scenario() -> None:
        async with served() as (service, _, connect):
            client = await connect()
            client.send(*[b"later %d" % n for n in range(100)])
            await until(lambda: len(service.later) == LIMITS.in_flight_max)
            answered = 0
            while answered < 100:
                await until(lambda: bool(service.later))
                pending, text = service.later.pop(0)
                pending.complete([text])
                assert await client.receive() == b"later %d" % answered
                answered += 1

    run(scenario())


@pytest.mark.feature("F-06")
def test_large_frames_take_turns_and_all_arrive() -> None:
    """Eight frames of 3 MB with room for three: the others wait with what was read, and go on when there is room."""

    async def scenario() -> None:
        async with served(held_bytes_max=20_000_000) as (_, listener, connect):
            room = listener._shared.flow.large_frames
            clients = [await connect() for _ in range(8)]
            text = b"now " + bytes(3_000_000)
            for client in clients:
                client.writer.write(struct.pack(">i", len(text)) + text[:-1])
            await until(lambda: room.waiting_count > 0)
            assert room.held_bytes <= room.bytes_max
            for client in clients:
                client.writer.write(text[-1:])
            for client in clients:
                assert await client.receive() == text
            assert listener._shared.flow.held_bytes == 0

    run(scenario())


@pytest.mark.feature("F-06")
def test_a_frame_that_never_ends_holds_up_neither_others_nor_the_stop() -> None:
    async def scenario() -> None:
        async with served(held_bytes_max=1 << 20) as (_, listener, connect):
            stuck, other, waiting = await connect(), await connect(), await connect()
            stuck.writer.write(struct.pack(">i", 3_000_000) + bytes(2_500_000))
            flow = listener._shared.flow
            await until(lambda: flow.held_bytes == 3_000_000)
            waiting.writer.write(struct.pack(">i", 2_000_000) + bytes(1_500_000))
            await until(lambda: flow.large_frames.waiting_count == 1)
            other.send(b"now")
            assert await other.receive() == b"now"
            stuck.writer.close()
            await until(lambda: flow.held_bytes == 2_000_000)
            assert not flow.large_frames.waiting_count
            started = asyncio.get_running_loop().time()
            listener.stop_accepting()
            await listener.drain(10)
            assert asyncio.get_running_loop().time() - started < 5
            assert flow.held_bytes == 0

    run(scenario())


@pytest.mark.feature("F-06")
def test_answers_that_were_read_late_hold_nobody_up() -> None:
    """Together they were over the bound for a while. When all are read, all clients continue."""

    async def scenario() -> None:
        async with served(held_bytes_max=1 << 20, socket_buffer_bytes=8192) as (_, listener, connect):
            flow = listener._shared.flow
            clients = [await connect() for _ in range(10)]
            for client in clients:
                client.send(b"big 200000")
            await until(lambda: flow.exhausted)
            for _ in range(3):
                for client in clients:
                    client.send(b"big 200000")
                answers = await asyncio.gather(*(client.receive() for client in clients))
                assert [len(answer) for answer in answers] == [200_000] * 10

    run(scenario())


@pytest.mark.feature("F-06")
def test_who_does_not_read_is_not_served_on_when_there_is_no_room() -> None:
    """Requests that were read already wait while clients have left too much unread, and are served when they read."""

    async def scenario() -> None:
        async with served(held_bytes_max=1 << 20, socket_buffer_bytes=8192) as (service, listener, connect):
            flow = listener._shared.flow
            clients = [await connect() for _ in range(20)]
            for client in clients:
                client.send(*[b"big 100000"] * 6)
            await until(lambda: flow.exhausted)
            await until(lambda: len({*service.seen}) == 1 and len(service.seen) >= 20)
            client = await connect()
            client.send(b"now")
            assert await client.receive() == b"now"
            # The bound, and for each client the one answer that every client gets.
            assert flow.held_bytes < (1 << 20) + 20 * 110_000
            for _ in range(6):
                answers = await asyncio.gather(*(client.receive() for client in clients))
                assert [len(answer) for answer in answers] == [100_000] * 20

    run(scenario())


@pytest.mark.feature("F-06")
def test_connections_above_the_limit_are_refused() -> None:
    async def scenario() -> None:
        async with served(connections_max=2) as (_, listener, connect):
            first, second = await connect(), await connect()
            for client in (first, second):
                client.send(b"now")
                assert await client.receive() == b"now"
            third = await connect()
            third.send(b"now")
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await third.receive()
            assert listener.connection_count == 2

    run(scenario())


def test_a_client_that_goes_away_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with served() as (service, listener, connect):
            client = await connect()
            client.send(b"later", b"slow", b"now")
            await until(lambda: len(service.seen) == 2)
            client.writer.close()
            await until(lambda: listener.connection_count == 0)
            assert service.abandoned == 1

    run(scenario())


def test_a_connection_that_has_ended_is_freed_without_the_garbage_collector() -> None:
    def connections() -> int:
        return sum(isinstance(each, Connection) for each in gc.get_objects())

    async def scenario() -> None:
        async with served() as (service, listener, connect):
            before = connections()
            clients = [await connect() for _ in range(5)]
            for client in clients:
                client.send(b"later", b"now")
            await until(lambda: len(service.seen) == 10)
            assert connections() == before + 5
            for client in clients:
                client.writer.close()
            await until(lambda: not listener.connection_count)
            await until(lambda: connections() == before)

    gc.collect()
    gc.disable()
    try:
        run(scenario())
    finally:
        gc.enable()


@pytest.mark.feature("F-06")
def test_shutdown_answers_what_was_asked_and_takes_nothing_more() -> None:
    async def scenario() -> None:
        async with served() as (service, listener, connect):
            client = await connect()
            client.send(b"later")
            await until(lambda: bool(service.later))
            listener.stop_accepting()
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(0.05)
            pending, text = service.later.pop()
            pending.complete([text])
            assert await client.receive() == b"later"
            await draining
            assert await client.reader.read() == b""

    run(scenario())


# --- muted connections ------------------------------------------------------------------------------------------------


@pytest.mark.feature("F-01")
def test_a_muted_connection_is_answered_but_not_served() -> None:
    async def scenario() -> None:
        async with served() as (service, listener, connect):
            client, other = await connect(), await connect()
            started = asyncio.get_running_loop().time()
            client.send(b"later", b"mute 1.5", b"now 1", b"now 2")
            await until(lambda: bool(service.later))
            service.later.pop()[0].complete([b"later"])
            assert [await client.receive() for _ in range(2)] == [b"later", b"mute 1.5"]
            assert listener.muted_count == 1
            other.send(b"now")
            assert await other.receive() == b"now"
            assert service.seen == [b"later", b"mute 1.5", b"now"]
            assert [await client.receive() for _ in range(2)] == [b"now 1", b"now 2"]
            assert asyncio.get_running_loop().time() - started >= 1.5
            assert listener.muted_count == 0

    run(scenario())


def test_a_muted_connection_is_not_read() -> None:
    async def scenario() -> None:
        async with served(socket_buffer_bytes=64 << 10) as (_, listener, connect):
            client = await connect()
            client.send(b"mute 30")
            await client.receive()
            client.writer.transport.set_write_buffer_limits(0)
            client.send(*[bytes(100_000)] * 100)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.writer.drain(), 0.2)
            assert listener.muted_count == 1

    run(scenario())


def test_a_longer_time_counts_a_shorter_one_does_not() -> None:
    async def scenario() -> None:
        async with served() as (_, listener, connect):
            client = await connect()
            client.send(b"mute 0.2")
            await client.receive()
            (connection,) = listener._connections
            started = asyncio.get_running_loop().time()
            connection.mute(0.4)
            connection.mute(0.1)
            client.send(b"now")
            await client.receive()
            assert asyncio.get_running_loop().time() - started > 0.39

    run(scenario())


def test_a_muted_client_that_goes_is_noticed_and_what_it_sent_is_served() -> None:
    async def scenario() -> None:
        async with served() as (service, listener, connect):
            client = await connect()
            client.send(b"mute 60")
            await client.receive()
            client.send(b"none but served")
            client.writer.close()
            await until(lambda: listener.connection_count == 0)
            assert service.seen[-1] == b"none but served"
            assert listener.muted_count == 0

    run(scenario())


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_a_connection_knows_the_address_at_which_its_client_reached_us(host: str) -> None:
    async def test() -> None:
        async with served(host=host) as (_, listener, connect):
            await connect()
            await until(lambda: listener.connection_count == 1)
            (connection,) = listener.connections()
            assert connection.peer.local == Endpoint("127.0.0.1", listener.port)

    run(test())


def test_idle_connections_are_closed_but_not_muted_ones() -> None:
    async def scenario() -> None:
        async with served(idle_ms_max=200) as (_, listener, connect):
            idle, muted = await connect(), await connect()
            muted.send(b"mute 0.8", b"begun"[:3])
            muted.writer.write(struct.pack(">i", 100) + b"the beginning of a request")
            await muted.receive()
            assert await idle.reader.read() == b""
            assert listener.connection_count == 1
            await until(lambda: listener.muted_count == 0)
            assert await muted.receive() == b"beg"

    run(scenario())


def test_a_stop_answers_what_was_read_of_muted_connections() -> None:
    async def scenario() -> None:
        async with served() as (_, listener, connect):
            client = await connect()
            client.send(b"mute 60", b"mute 50", b"now")
            await client.receive()
            listener.stop_accepting()
            await listener.drain(5)
            assert [await client.receive() for _ in range(2)] == [b"mute 50", b"now"]
            assert await client.reader.read() == b""
            assert listener.muted_count == 0

    run(scenario())


def test_a_connection_over_the_rate_of_its_address_is_closed_unread() -> None:
    async def scenario() -> None:
        async with served() as (service, listener, connect):
            welcome = await connect()
            await until(lambda: listener.connection_count == 1)
            service.delays["127.0.0.1"] = 0.2
            started = asyncio.get_running_loop().time()
            refused = await connect()
            refused.send(b"now")
            assert await refused.reader.read() == b""
            assert asyncio.get_running_loop().time() - started > 0.15
            assert service.seen == []
            welcome.send(b"now")
            assert await welcome.receive() == b"now"

    run(scenario())


@pytest.mark.parametrize("piece_bytes", [1, 7, 65_536])
def test_a_first_frame_of_16_mib_is_not_taken_for_another_protocol(piece_bytes: int) -> None:
    """Its first byte is that of a push frame. Pieces are small for its beginning only."""
    limits = dataclasses.replace(LIMITS, frame_bytes_max=32 << 20)

    async def scenario() -> None:
        async with served(limits) as (service, listener, connect):
            others: list[Echo] = []

            def make(_: Ticket) -> Echo:
                others.append(Echo())
                return others[-1]

            listener.hand_over(lambda start: is_push(start, limits.frame_bytes_max), make)
            text = struct.pack(">hhih", 0, 9, 1, 4) + b"test" + bytes((17 << 20) - 14)
            client = await connect()
            frame = struct.pack(">i", len(text)) + text
            for position in range(0, 28, piece_bytes):
                client.writer.write(frame[position : min(28, position + piece_bytes)])
                await client.writer.drain()
                await asyncio.sleep(0.001)
            client.writer.write(frame[28:])
            assert await client.receive() == text
            assert (len(service.seen), others) == (1, [])
            other = await connect()
            hello = encode(Subscribe("prices"), 800)
            for position in range(0, len(hello), piece_bytes):
                other.writer.write(hello[position : position + piece_bytes])
                await asyncio.sleep(0.001)
            assert await other.reader.readexactly(len(hello)) == hello
            assert (len(service.seen), len(others)) == (1, 1)

    run(scenario())


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)
