"""The room for strangers: what clients send before they have logged in is bounded, and takes nothing from others."""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.limits import FRAME_BYTES_BEFORE_LOGIN_MAX
from penstock.net.admission.ticket import Ticket
from penstock.net.strangers import FRAMES_MIN, FREE_BYTES, NO_MEMORY, Stranger, StrangersRoom
from tests.support.admission import open_door
from tests.unit.net.test_connection import Client, Service, run, served, until

pytestmark = pytest.mark.feature("F-06")

HALF = struct.pack(">i", FRAME_BYTES_BEFORE_LOGIN_MAX) + bytes(FRAME_BYTES_BEFORE_LOGIN_MAX - 1)


def strangers(room: StrangersRoom, count: int, closed: list[int]) -> list[Stranger]:
    """Strangers that note their number when they have to give way."""
    door = open_door()

    def one(number: int) -> Stranger:
        ticket = door.admit("", lambda: closed.append(number))
        assert isinstance(ticket, Ticket)
        return Stranger(room, ticket)

    return [one(number) for number in range(count)]


def hold(each: Iterable[Stranger], frame_bytes: int) -> None:
    for stranger in each:
        stranger.hold_frame(frame_bytes)


# --- the room ---------------------------------------------------------------------------------------------------------


def test_the_stranger_that_is_in_the_room_for_longest_gives_way() -> None:
    room, closed = StrangersRoom(1_000), list[int]()
    first, second, third = strangers(room, 3, closed)
    first.hold_frame(FREE_BYTES + 400)
    second.hold_frame(FREE_BYTES + 400)
    first.hold_frame(FREE_BYTES + 500)  # it goes on, and is still the oldest
    assert (room.held_bytes, closed) == (900, [])
    third.hold_frame(FREE_BYTES + 400)
    assert (room.held_bytes, closed) == (800, [0])
    assert third.ticket.door.dropped == {NO_MEMORY: 1}
    first.hold_frame(0)
    first.change(5_000)
    assert room.held_bytes == 800, "what it gives back or takes behind its end counts no more"


def test_who_left_the_room_meanwhile_is_not_the_oldest() -> None:
    room, closed = StrangersRoom(1_000), list[int]()
    first, second, third = strangers(room, 3, closed)
    hold((first, second), FREE_BYTES + 400)
    first.hold_frame(0)
    first.hold_frame(FREE_BYTES + 400)
    third.hold_frame(FREE_BYTES + 400)
    assert closed == [1]


def test_short_logins_never_give_way() -> None:
    """However many others come, and however long a check of a password takes."""
    room, closed = StrangersRoom(10_000), list[int]()
    honest, *crowd = strangers(room, 90, closed)
    honest.hold_served(FREE_BYTES)
    hold(crowd, FREE_BYTES + 1_000)
    assert (room.held_bytes, len(closed), 0 in closed) == (10_000, 79, False)


def test_one_that_holds_more_than_the_room_closes_all_and_then_itself() -> None:
    """In one go: thousands of small ones do not make a deep stack."""
    room, closed = StrangersRoom(4_000), list[int]()
    (*many, huge) = strangers(room, 4_001, closed)
    hold(many, FREE_BYTES + 1)
    huge.change(FREE_BYTES + 4_001)
    assert (room.held_bytes, len(closed)) == (0, 4_001)


def test_the_room_is_a_small_part_beside_that_of_others() -> None:
    assert StrangersRoom.beside(512 << 20).bytes_max == 16 << 20
    assert StrangersRoom.beside(1 << 20).bytes_max == FRAMES_MIN * FRAME_BYTES_BEFORE_LOGIN_MAX


Steps = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["frame", "served", "close"]), st.integers(0, 5_000)))


@given(st.integers(0, 5_000), Steps)
def test_any_order_of_steps_stays_within_the_bound_and_leaves_nothing(
    bytes_max: int, steps: list[tuple[int, str, int]]
) -> None:
    room, closed = StrangersRoom(bytes_max), list[int]()
    all_of_them = strangers(room, 6, closed)
    for number, kind, size in steps:
        stranger = all_of_them[number]
        if kind == "close":
            stranger.close()
        elif kind == "frame":
            stranger.hold_frame(size)
        else:
            stranger.hold_served(size)
        assert 0 <= room.held_bytes <= bytes_max
        assert len(closed) == len(set(closed))
    for stranger in all_of_them:
        stranger.close()
    assert room.held_bytes == 0


# --- connections ------------------------------------------------------------------------------------------------------


def strict() -> Service:
    service = Service()
    service.needs_no_login = False
    return service


async def log_in(client: Client) -> None:
    client.send(b"login")
    assert await client.receive() == b"login"


def test_half_frames_of_strangers_are_bounded_and_take_no_room_of_others() -> None:
    async def scenario() -> None:
        async with served(service=strict(), held_bytes_max=16 << 20) as (_, listener, connect):
            flow = listener._shared.flow
            honest = await connect()
            await log_in(honest)
            for _ in range(3 * FRAMES_MIN):
                (await connect()).writer.write(HALF)
            await until(lambda: listener.connection_count <= FRAMES_MIN + 2)
            await until(lambda: flow.strangers.held_bytes > flow.strangers.bytes_max // 2)
            assert flow.strangers.held_bytes <= flow.strangers.bytes_max
            assert flow.held_bytes == 0
            text = b"now " + bytes(300_000)
            honest.send(text)
            assert await honest.receive() == text
            late = await connect()
            await log_in(late)
            late.send(text)
            assert await late.receive() == text

    run(scenario())


@pytest.mark.parametrize("texts", [[b"slow", *[b"now " + bytes(50_000)] * 10], [b"big 200000"] * 30])
def test_requests_that_wait_and_answers_that_are_not_read_count_for_strangers_too(texts: list[bytes]) -> None:
    """Behind a login that is being checked, or because they do not read: these bytes are not in the others' backlog."""

    async def scenario() -> None:
        service = strict()
        async with served(service=service, held_bytes_max=16 << 20, socket_buffer_bytes=8192) as (_, listener, connect):
            flow = listener._shared.flow
            hoarders = [await connect() for _ in range(8)]
            for client in hoarders:
                client.send(*texts)
            await until(lambda: listener.connection_count < 8)
            assert flow.backlog_bytes == 0
            assert 0 < flow.strangers.held_bytes <= flow.strangers.bytes_max
            for client in hoarders:
                client.writer.transport.abort()
            service.gate.set()  # it is read again, and notices that it has ended
            await until(lambda: listener.connection_count == 0)
            assert (flow.strangers.held_bytes, flow.held_bytes) == (0, 0)

    run(scenario())


def test_a_login_that_is_being_checked_has_a_time_of_its_own() -> None:
    async def scenario() -> None:
        async with served(service=strict()) as (_, listener, connect):
            silent, client = await connect(), await connect()
            client.send(b"heard")
            assert await client.receive() == b"heard"
            door = listener._door
            door.silent_seconds_max = 0.0
            await door.admission.sweep()
            assert await silent.reader.read() == b""
            assert door.loose_count == 1  # it still gives way to others
            client.send(b"login")
            assert await client.receive() == b"login"
            assert door.loose_count == 0

    run(scenario())


def test_what_was_sent_ahead_of_the_login_goes_on_behind_it() -> None:
    """Requests that wait, half a frame, and its rest, which is longer than a stranger's frame may be."""

    async def scenario() -> None:
        async with served(service=strict()) as (service, listener, connect):
            flow, client = listener._shared.flow, await connect()
            text = b"now " + bytes(60_000)
            client.send(b"slow", b"login", text)
            client.writer.write(struct.pack(">i", len(text)) + text[:30_000])
            await until(lambda: flow.strangers.held_bytes > 80_000)
            service.gate.set()
            assert [await client.receive() for _ in range(3)] == [b"slow", b"login", text]
            assert flow.strangers.held_bytes == 0
            client.writer.write(text[30_000:])
            assert await client.receive() == text
            client.send(text * 10)
            assert await client.receive() == text * 10
            assert flow.held_bytes == 0

    run(scenario())


def test_frames_of_strangers_arrive_whole_however_they_are_cut() -> None:
    async def scenario() -> None:
        async with served(service=strict()) as (_, listener, connect):
            client = await connect()
            texts = [b"now a", b"now " + bytes(FRAME_BYTES_BEFORE_LOGIN_MAX - 4), b"now b", b"now c"]
            data = b"".join(struct.pack(">i", len(text)) + text for text in texts)
            cuts = [0, 1, 2, 3, 5, 8, 13, 15, 100, 5_000, 64 << 10, (64 << 10) + 10, len(data) - 5, len(data)]
            for start, end in itertools.pairwise(cuts):
                client.writer.write(data[start:end])
                await asyncio.sleep(0.01)
            assert [await client.receive() for _ in texts] == texts
            assert listener._shared.flow.strangers.held_bytes == 0

    run(scenario())


def test_a_stranger_goes_on_while_frames_of_others_wait_for_room() -> None:
    """Then less is read at a time; a frame that is kept must not leave a buffer without space."""

    async def scenario() -> None:
        async with served(service=strict()) as (_, listener, connect):
            client = await connect()
            client.writer.write(HALF)
            await until(lambda: listener._shared.flow.strangers.held_bytes > 60_000)
            listener._shared.flow.small_frames.is_crowded = True
            client.writer.write(b"x")
            assert len(await client.receive()) == FRAME_BYTES_BEFORE_LOGIN_MAX

    run(scenario())
