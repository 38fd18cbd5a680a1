"""Streams of records on their way to the part that decrypts them: how much is taken in a turn."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.net.tls.paced_stream import (
    CHUNK_BYTES_MAX,
    FIRST_CHUNK_BYTES,
    RECORDS_MAX,
    SMALL_CHUNK_BYTES,
    Lane,
    PacedStream,
)


class Decrypting:
    """Remembers what it is given."""

    def __init__(self) -> None:
        self._buffer = bytearray(256 << 10)
        self.chunks: list[bytes] = []

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        self.chunks.append(bytes(self._buffer[:nbytes]))


class Transport:
    """A socket with bytes that are there already."""

    def __init__(self) -> None:
        self.bytes = b""
        self._reads = True

    def is_reading(self) -> bool:
        return self._reads

    def pause_reading(self) -> None:
        assert self._reads
        self._reads = False

    def resume_reading(self) -> None:
        assert not self._reads
        self._reads = True

    def feed(self, stream: PacedStream) -> None:
        """Read as long as there is anything, and the stream wants it."""
        while self.bytes and self._reads:
            buffer = stream.get_buffer(1 << 16)
            chunk, self.bytes = self.bytes[: len(buffer)], self.bytes[len(buffer) :]
            buffer[: len(chunk)] = chunk
            stream.buffer_updated(len(chunk))


class World:
    def __init__(self) -> None:
        self.transport, self.decrypting = Transport(), Decrypting()
        self.stream = PacedStream(cast(asyncio.Transport, self.transport), cast(Any, self.decrypting), Lane())

    def send(self, data: bytes) -> None:
        self.transport.bytes += data
        self.transport.feed(self.stream)


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **named: Any) -> None:
        asyncio.run(test(*args, **named))

    return run


def record(size: int) -> bytes:
    return b"\x17\x03\x03" + size.to_bytes(2, "big") + bytes(size)


@given(st.lists(st.integers(0, 300), max_size=40), st.lists(st.integers(1, 200), max_size=60))
def test_records_are_counted_wherever_they_are_cut(sizes: list[int], cuts: list[int]) -> None:
    world, data, counted = World(), b"".join(map(record, sizes)), 0
    for cut in [*cuts, len(data)]:
        chunk, data = data[:cut], data[cut:]
        for piece in (chunk[at : at + FIRST_CHUNK_BYTES] for at in range(0, len(chunk), FIRST_CHUNK_BYTES)):
            world.stream.get_buffer(len(piece))[: len(piece)] = piece
            counted += world.stream._count_records(len(piece))
    assert counted == len(sizes)


def test_what_comes_is_what_goes_on_and_chunks_grow() -> None:
    world, data = World(), b"".join(record(size) for size in (16_000, 100, 16_384) * 40)
    world.send(data)
    assert b"".join(world.decrypting.chunks) == data
    assert [len(chunk) for chunk in world.decrypting.chunks[:7]] == [
        *(FIRST_CHUNK_BYTES << doublings for doublings in range(6)), CHUNK_BYTES_MAX
    ]  # fmt: skip


@on_a_loop
async def test_small_records_without_end_take_turns() -> None:
    first, second = World(), World()
    first.stream._lane = second.stream._lane = Lane()
    data = record(22) * 2000
    for world in (first, second):
        world.send(data)
        assert not world.transport.is_reading()
        assert list(map(len, world.decrypting.chunks)) == [FIRST_CHUNK_BYTES]

    async with asyncio.timeout(20):
        while first.transport.bytes or second.transport.bytes:
            await asyncio.sleep(0.001)
            for world in (first, second):
                world.transport.feed(world.stream)
    assert b"".join(first.decrypting.chunks) == data
    assert max(map(len, first.decrypting.chunks[1:])) == SMALL_CHUNK_BYTES


@on_a_loop
async def test_many_records_end_a_turn() -> None:
    world = World()
    for _ in range(3):
        world.send(record(16_000) * 4)
    before = len(world.decrypting.chunks)
    world.send(record(100) * RECORDS_MAX * 24)
    assert len(world.decrypting.chunks) == before + 1
    await asyncio.sleep(0)
    world.transport.feed(world.stream)
    assert len(world.decrypting.chunks) == before + 2


@pytest.mark.parametrize("is_paused_before", [False, True])
@on_a_loop
async def test_nothing_is_taken_while_it_is_held(is_paused_before: bool) -> None:
    world = World()
    if is_paused_before:
        world.send(record(22) * 300)
    world.stream.hold()
    world.send(record(22) * 3000)
    chunks = len(world.decrypting.chunks)
    await asyncio.sleep(0.05)
    world.transport.feed(world.stream)
    assert len(world.decrypting.chunks) == chunks
    world.stream.release()
    world.transport.feed(world.stream)
    assert len(world.decrypting.chunks) > chunks


def test_a_pause_of_the_other_side_is_left_alone() -> None:
    world = World()
    world.transport.pause_reading()
    world.stream.hold()
    world.stream.release()
    assert not world.transport.is_reading()
