"""Frames whose bytes come slowly, or never: they hold up no other client, and their connections are closed."""

from __future__ import annotations

import asyncio
import dataclasses
import struct

import pytest

from penstock.net.flow_control import FlowControl
from tests.unit.net.test_connection import LIMITS, Client, Service, run, served, until

pytestmark = pytest.mark.feature("F-06")

WIDE = dataclasses.replace(LIMITS, frame_bytes_max=100 << 20)
IDLE_MS = 2_000  # the spare time of a frame, too


def begin(client: Client, size: int, sent: int) -> None:
    client.writer.write(struct.pack(">i", size) + bytes(sent))


async def trickle(client: Client) -> None:
    """Send a byte now and then, until the connection is closed."""
    end = asyncio.ensure_future(ended(client))
    while not end.done():
        client.writer.write(b"x")
        await asyncio.wait((end,), timeout=0.2)
    end.result()


async def ended(client: Client) -> None:
    try:
        assert await client.reader.read() == b""
    except ConnectionError:
        pass


@pytest.mark.parametrize("sent", [2, 10 << 20, pytest.param(40 << 20, marks=pytest.mark.full)])
def test_frames_that_trickle_hold_up_nobody_and_are_closed(sent: int, caplog: pytest.LogCaptureFixture) -> None:
    """Six frames of 100 MiB, announced or well under way, and requests of 2 MiB on another connection meanwhile."""

    async def scenario() -> None:
        async with served(WIDE, held_bytes_max=512 << 20, idle_ms_max=IDLE_MS) as (_, listener, connect):
            flow = listener._shared.flow
            slow = [await connect() for _ in range(6)]
            for client in slow:
                begin(client, 100 << 20, sent)
            trickles = [asyncio.ensure_future(trickle(client)) for client in slow]
            honest, text = await connect(), b"now " + bytes(2 << 20)
            while listener.connection_count > 1:
                honest.send(text)
                async with asyncio.timeout(15):
                    assert await honest.receive() == text
            await asyncio.gather(*trickles)
            assert flow.held_bytes == 0

    run(scenario())
    assert caplog.text.count("come too slowly") == 6


def test_frames_at_the_least_rate_are_not_closed() -> None:
    async def scenario() -> None:
        async with served(idle_ms_max=400) as (_, listener, connect):
            client, size = await connect(), 400_000
            begin(client, size, 0)
            for _ in range(10):  # 40,000 bytes in a tenth of a second are six times the rate
                client.writer.write(b"now " * 10_000)
                await asyncio.sleep(0.1)
            assert len(await client.receive()) == size
            assert listener.connection_count == 1

    run(scenario())


def test_time_in_which_the_broker_does_not_read_is_the_brokers() -> None:
    """A muted connection in the middle of a frame has all of its spare time left when it is read again."""

    async def scenario() -> None:
        async with served(idle_ms_max=400) as (_, _, connect):
            client = await connect()
            client.send(b"mute 1.5")
            client.writer.write(struct.pack(">i", 8) + b"now ")
            assert await client.receive() == b"mute 1.5"
            client.writer.write(b"done")
            assert await client.receive() == b"now done"

    run(scenario())


def test_who_does_not_read_its_answers_has_no_more_time_for_a_frame() -> None:
    """Reading it is paused, but by its own doing."""

    async def scenario() -> None:
        async with served(idle_ms_max=1_000, socket_buffer_bytes=8192) as (service, listener, connect):
            client = await connect()
            client.send(b"big 2000000")
            client.writer.write(struct.pack(">i", 100_000) + bytes(70_000))
            await until(lambda: len(service.seen) == 1)
            await until(lambda: listener.connection_count == 0)
            assert listener._shared.flow.held_bytes == 0

    run(scenario())


def test_small_frames_are_counted_as_they_arrive() -> None:
    """Sixty clients with half a frame of 1 MiB each: within the bound, and all complete when they go on."""

    async def scenario() -> None:
        async with served(held_bytes_max=64 << 20) as (_, listener, connect):
            room = listener._shared.flow.small_frames
            clients = [await connect() for _ in range(60)]
            text = b"now " + bytes(1_000_000)
            for client in clients:
                begin(client, len(text), 2)
            assert room.held_bytes == 0
            for client in clients:
                client.writer.write(text[:500_000])
            await until(lambda: room.is_crowded)
            assert room.held_bytes <= room.bytes_max
            for client in clients:
                client.writer.write(text[500_000:-2])
            answers = await asyncio.gather(*(client.receive() for client in clients))
            assert {len(answer) for answer in answers} == {len(text)}
            assert room.held_bytes == 0

    run(scenario())


def test_a_connection_that_was_closed_does_not_stay_for_a_client_that_does_not_read() -> None:
    async def scenario() -> None:
        async with served(idle_ms_max=500, socket_buffer_bytes=8192) as (_, listener, connect):
            client = await connect()
            client.send(b"big 200000", b"bad")
            await until(lambda: listener.connection_count == 0)
            assert listener._shared.flow.held_bytes == 0

    run(scenario())


# --- complete frames --------------------------------------------------------------------------------------------------


def test_a_large_request_keeps_its_room_until_it_is_decoded_or_answered() -> None:
    """Else the requests that wait for a thread to decode them would be in no bound."""

    async def scenario() -> None:
        async with served() as (service, listener, connect):
            flow = listener._shared.flow
            text = bytes(3_000_000)
            served_later, forgotten, gone = await connect(), await connect(), await connect()
            served_later.send(b"slow " + text)
            gone.send(b"slow " + text)
            forgotten.send(b"decoded " + text)
            await until(lambda: len(service.seen) == 3)
            assert flow.held_bytes == 2 * 3_000_005
            gone.writer.close()
            await until(lambda: flow.held_bytes == 3_000_005)
            service.gate.set()
            assert await served_later.receive() == b"slow " + text
            assert await forgotten.receive() == b"decoded " + text
            assert flow.held_bytes == 0

    run(scenario())


def test_large_requests_behind_one_that_waits_are_bounded() -> None:
    """A connection that sends one when there is no room is closed, and those that were queued before stay."""

    async def scenario() -> None:
        async with served(held_bytes_max=16 << 20) as (service, listener, connect):
            clients, late = [await connect() for _ in range(3)], [await connect() for _ in range(3)]
            text = b"now " + bytes(2 << 20)
            for client in clients:
                client.send(b"slow", text)
            await until(lambda: listener._shared.flow.exhausted)
            for client in late:
                client.send(b"slow", text)
                await ended(client)
            service.gate.set()
            for client in clients:
                assert [await client.receive(), await client.receive()] == [b"slow", text]
            assert listener._shared.flow.held_bytes == 0

    run(scenario())


# --- before a login ---------------------------------------------------------------------------------------------------


def test_frames_are_short_until_the_client_has_logged_in(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        service = Service()
        service.needs_no_login = False
        async with served(service=service) as (_, _, connect):
            client = await connect()
            longest = b"now " + bytes((64 << 10) - 4)
            client.send(longest)
            assert await client.receive() == longest
            client.send(b"login")
            assert await client.receive() == b"login"
            client.send(longest + b"x")
            assert await client.receive() == longest + b"x"
            hostile = await connect()
            begin(hostile, (64 << 10) + 1, 2)
            await ended(hostile)

    run(scenario())
    assert "a frame of 65537 bytes is not allowed" in caplog.text


# --- the parts of the bound -------------------------------------------------------------------------------------------


def test_a_backlog_leaves_room_for_frames() -> None:
    flow = FlowControl(800)
    flow.change(301)
    assert (flow.exhausted, flow.room_bytes, flow.held_bytes) == (True, 0, 301)
    woken: list[int] = []
    flow.wait_for_room(lambda: woken.append(1))
    flow.change(-1)
    assert (flow.exhausted, woken, flow.small_frames.bytes_max, flow.large_frames.bytes_max) == (False, [1], 100, 400)
