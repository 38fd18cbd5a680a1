"""Kinds of load: crowds, consumers of everything, slow readers, clients that never read, bursts."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from tests.load.frames import API_VERSIONS, fetch_frame, fetch_head, fetched
from tests.scale.scaled_broker import produce_error, produce_frame
from tests.support.batches import values

MAX_WAIT_MS = 500
MAX_WAIT_SECONDS = MAX_WAIT_MS / 1000
_INT32 = struct.Struct(">i")


class Wire:
    """One connection of a generator."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def receive(self) -> bytes:
        (size,) = _INT32.unpack(await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def ask(self, request: bytes) -> bytes:
        self.writer.write(request)
        return await self.receive()

    def close(self) -> None:
        self.writer.close()


class Disturbance:
    """Tasks that run between `begin` and `end`. What goes wrong is counted under the name of the error."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._tasks: list[asyncio.Task[None]] = []
        self._sources = itertools.cycle(f"127.0.0.{number}" for number in range(2, 10))
        self.counts: Counter[str] = Counter()

    async def begin(self) -> None:
        raise NotImplementedError

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def connect(self) -> Wire:
        """From several addresses of this machine in turn: one alone runs out of ports while old ones cool down."""
        reader, writer = await asyncio.open_connection(*self._address, local_addr=(next(self._sources), 0))
        self.counts["connections"] += 1
        return Wire(reader, writer)

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(self._guarded(work)))

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except (OSError, EOFError, AssertionError) as error:
            self.counts[f"failed: {type(error).__name__} {error}"] += 1

    def check(self, error: int) -> None:
        if error:
            self.counts[f"failed: error code {error}"] += 1


class Crowd(Disturbance):
    """Thousands of connections that are open, hundreds a second that come and go, and some that work."""

    def __init__(self, host: str, port: int, *, topic: str, held: int, churn_per_s: int, busy: int) -> None:
        super().__init__(host, port)
        self._held_count = held
        self._churn_seconds = 1 / churn_per_s
        self._busy_count = busy
        self._produce = produce_frame(topic, 0, values("x" * 100))
        self._held: list[Wire] = []

    async def begin(self) -> None:
        while len(self._held) < self._held_count:
            opened = await asyncio.gather(*(self._visit() for _ in range(50)))
            self._held += opened
        for wire in self._held[: self._busy_count]:
            self.start(lambda wire=wire: self._work(wire))  # type: ignore[misc]
        self.start(self._churn)

    async def _visit(self) -> Wire:
        wire = await self.connect()
        assert len(await wire.ask(API_VERSIONS)) > 10
        return wire

    async def _work(self, wire: Wire) -> None:
        while True:
            self.check(produce_error(await wire.ask(self._produce)))
            self.counts["requests of busy ones"] += 1
            await asyncio.sleep(0.2)

    async def _churn(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self._held.append(await self._visit())
            self._held.pop(self._busy_count).close()
            self.counts["churned"] += 1
            due = max(due + self._churn_seconds, loop.time() - 0.05)
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def end(self) -> None:
        """The connections stay until all of them have been seen alive."""
        await super().end()
        for wire in self._held[self._busy_count :]:
            assert len(await wire.ask(API_VERSIONS)) > 10
        for wire in self._held:
            wire.close()
        self._held.clear()
        await asyncio.sleep(0.5)


class Consumers(Disturbance):
    """Fetch sessions over many partitions each, while a producer writes to all of them in turn."""

    def __init__(
        self, host: str, port: int, *, topics: list[str], partitions: int, consumers: int, writes_per_s: int
    ) -> None:
        super().__init__(host, port)
        self._topics = topics
        self._partitions = partitions
        self._consumer_count = consumers
        self._write_seconds = 1 / writes_per_s
        self._offsets: dict[tuple[str, int], int] = {}
        self._written = itertools.cycle(
            produce_frame(topic, index, values("x" * 100)) for index in range(partitions) for topic in topics
        )

    async def begin(self) -> None:
        ready: list[asyncio.Event] = []
        share = self._partitions * len(self._topics) // self._consumer_count
        for number in range(self._consumer_count):
            first = number * share
            topic, index = self._topics[first // self._partitions], first % self._partitions
            ready.append(asyncio.Event())
            self.start(lambda t=topic, i=index, r=ready[-1]: self._consume(t, range(i, i + share), r))  # type: ignore[misc]
            await asyncio.sleep(MAX_WAIT_SECONDS / self._consumer_count)  # consumers do not march in step
        await asyncio.wait_for(asyncio.gather(*(each.wait() for each in ready)), 60)
        self.start(self._write)

    async def _consume(self, topic: str, indexes: range, ready: asyncio.Event) -> None:
        wire = await self.connect()
        session, epoch = 0, 0
        wanted: list[tuple[int, int]] = [(index, self._offsets.get((topic, index), 0)) for index in indexes]
        try:
            while True:
                answer = await wire.ask(fetch_frame(topic, wanted, session=(session, epoch), max_wait_ms=MAX_WAIT_MS))
                error, session = fetch_head(answer)
                self.check(error)
                ready.set()
                self.counts["fetches"] += 1
                epoch += 1
                wanted = []
                for each in fetched(answer):
                    self.check(each.error)
                    if each.next_offset >= 0:
                        self.counts["partitions with news"] += 1
                        self._offsets[topic, each.partition] = each.next_offset
                        wanted.append((each.partition, each.next_offset))
        finally:
            wire.close()

    async def _write(self) -> None:
        wire = await self.connect()
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self.check(produce_error(await wire.ask(next(self._written))))
            self.counts["messages"] += 1
            due = max(due + self._write_seconds, loop.time() - 0.05)
            await asyncio.sleep(max(0.0, due - loop.time()))


class SlowReaders(Disturbance):
    """They ask for megabytes and take a few kilobytes a second."""

    def __init__(self, host: str, port: int, *, topic: str, readers: int, answer_bytes: int) -> None:
        super().__init__(host, port)
        self._readers = readers
        self._request = fetch_frame(topic, [(0, 0)], max_bytes=answer_bytes)

    async def begin(self) -> None:
        for _ in range(self._readers):
            self.start(self._read_slowly)
        await asyncio.sleep(1.0)

    async def _read_slowly(self) -> None:
        loop = asyncio.get_running_loop()
        with self.narrow_socket() as sock:
            await loop.sock_connect(sock, self._address)
            self.counts["connections"] += 1
            await loop.sock_sendall(sock, self._request * 5)
            while True:
                received = await loop.sock_recv(sock, 2048)
                assert received, "the broker closed the connection of a slow reader"
                self.counts["bytes"] += len(received)
                await asyncio.sleep(0.2)

    @staticmethod
    def narrow_socket() -> socket.socket:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        return sock


class NeverReaders(SlowReaders):
    """They send as fast as they are let and read nothing at all."""

    async def _read_slowly(self) -> None:
        loop = asyncio.get_running_loop()
        with self.narrow_socket() as sock:
            await loop.sock_connect(sock, self._address)
            self.counts["connections"] += 1
            while True:
                await loop.sock_sendall(sock, self._request * 500)
                self.counts["requests"] += 500
                await asyncio.sleep(0)


class Burst(Disturbance):
    """Producers that keep a steady rate, and for a while ten times that."""

    def __init__(self, host: str, port: int, *, topic: str, producers: int, requests_per_s: int, factor: int) -> None:
        super().__init__(host, port)
        self._steady_seconds = producers / requests_per_s
        self._factor = factor
        self._pace = self._steady_seconds
        self._producers = producers
        self._produce = produce_frame(topic, 0, values(*["x" * 100] * 10))

    async def begin(self) -> None:
        self._start_once()
        self._pace = self._steady_seconds / self._factor

    async def end(self) -> None:
        self._start_once()
        self._pace = self._steady_seconds

    def _start_once(self) -> None:
        if not self._tasks:
            for _ in range(self._producers):
                self.start(self._send)

    async def _send(self) -> None:
        wire = await self.connect()
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self.check(produce_error(await wire.ask(self._produce)))
            self.counts["bursting" if self._pace < self._steady_seconds else "steady"] += 1
            due = max(due + self._pace, loop.time() - 0.05)
            await asyncio.sleep(max(0.0, due - loop.time()))


DISTURBANCES: dict[str, Callable[..., Disturbance]] = {
    "crowd": Crowd,
    "consumers": Consumers,
    "slow readers": SlowReaders,
    "never readers": NeverReaders,
    "burst": Burst,
}
