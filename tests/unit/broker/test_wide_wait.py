"""Fetches with many partitions that wait: which news they read, when, and when they are over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from penstock.broker.fetch.partition_read import FetchTarget
from penstock.broker.fetch.wide_wait import WideWait
from penstock.protocol.kafka.fetch import READ_COMMITTED, FetchPartition, FetchRequest
from penstock.runtime.fair_line import FairLine
from penstock.runtime.turns import finish
from penstock.storage.interface import Log, ReadSlice
from tests.support.committed_reader import end_transaction, put_in_transaction
from tests.unit.broker.handlers.test_fetch_committed import READ_UNCOMMITTED, Node
from tests.unit.storage.log_rig import make_batch, put

pytestmark = pytest.mark.feature("F-01")

BATCH_BYTES = len(make_batch(b"x"))
DEADLINE_S = 20.0


def nothing() -> None:
    """What happens during a read, as a rule."""


class Disk:
    """A log whose reads are counted, and may take so long that something happens meanwhile."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.reads = 0
        self.meanwhile: Callable[[], None] = nothing

    def read(self, *arguments: Any, **options: Any) -> ReadSlice:
        found = self._log.read(*arguments, **options)
        self.reads += 1
        self.meanwhile()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


class Place(Node):
    """A partition, and waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.partition = self.partitions.get("t", 0)
        self.disk = Disk(self.log)
        self.partition._log = cast(Log, self.disk)
        self.line = FairLine(1)

    def put(self, *values: bytes) -> None:
        put(self.log, *values)
        self.flush()

    async def wait(self, min_bytes: int, isolation: int = READ_UNCOMMITTED) -> WideWait:
        """A wait for what comes after the records that are there."""
        item = FetchPartition("t", 0, -1, self.partition.high_watermark, -1, 1 << 20)
        return await self.wait_after(item, min_bytes, isolation)

    async def wait_after(self, item: FetchPartition, min_bytes: int, isolation: int = READ_UNCOMMITTED) -> WideWait:
        target = FetchTarget(item, self.partition)
        committed_only = isolation == READ_COMMITTED
        answer, _, _ = target.read(1 << 20, 60, first=True, wait=True, committed_only=committed_only)
        self.disk.reads = 0
        request = FetchRequest(-1, 60_000, min_bytes, 1 << 20, isolation, 0, -1, [item], [], "")
        waiting = WideWait(request, answer.size, 1 << 20)
        await finish(waiting.begin(self.partitions, [(target, answer)], [item]))
        return waiting

    async def over(self, waiting: WideWait) -> None:
        await asyncio.wait_for(waiting.until_over(self.line, "alice"), DEADLINE_S)


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as place:
        yield place


async def rounds(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_records_that_cannot_be_enough_are_not_read(place: Place) -> None:
    async def scenario() -> None:
        place.put(b"before")
        waiting = await place.wait(3 * BATCH_BYTES)
        until = asyncio.create_task(place.over(waiting))
        for _ in range(2):
            place.put(b"x")
            await rounds(10)
            assert (place.disk.reads, waiting.has_news, until.done()) == (0, True, False)
        place.put(b"x")
        await until
        assert place.disk.reads == 1

    place.run(scenario())


def test_a_small_marker_may_be_enough(place: Place) -> None:
    async def scenario() -> None:
        put_in_transaction(place.log, 1, 0, bytes(10_000))
        place.flush()
        waiting = await place.wait_after(FetchPartition("t", 0, -1, 0, -1, 1 << 20), 9_000, READ_COMMITTED)
        until = asyncio.create_task(place.over(waiting))
        await rounds(10)
        assert not until.done()
        end_transaction(place.log, 1, commit=True)
        place.flush()
        await until

    place.run(scenario())


def test_a_record_that_is_flushed_during_the_first_look_is_news(place: Place) -> None:
    """The thread that looks has taken the end of the log before, and the wait begins after it."""

    async def scenario() -> None:
        item = FetchPartition("t", 0, -1, 0, -1, 1 << 20)
        place.put(b"first")
        place.disk.meanwhile = lambda: put_once(place)
        waiting = await place.wait_after(item, 2 * BATCH_BYTES)
        await place.over(waiting)
        assert waiting.has_news

    place.run(scenario())


def put_once(place: Place) -> None:
    place.disk.meanwhile = nothing
    place.put(b"second")


def test_a_look_that_fails_is_no_concern_of_other_readers(place: Place) -> None:
    async def scenario() -> None:
        waiting = await place.wait(1)
        other: list[None] = []
        place.partition.add_data_waiter(lambda: other.append(None))

        def fail() -> None:
            raise MemoryError

        place.disk.meanwhile = fail
        place.put(b"x")
        assert other
        with pytest.raises(MemoryError):
            await place.over(waiting)

    place.run(scenario())


def test_very_many_that_wait_for_a_record_read_it_in_turns(place: Place) -> None:
    async def scenario() -> None:
        waits = [await place.wait(1) for _ in range(50)]
        tasks = [asyncio.create_task(place.over(waiting)) for waiting in waits]
        await rounds(2)
        place.put(b"x")
        assert place.disk.reads == 0
        before = 0
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            assert place.disk.reads - before <= 1
            before = place.disk.reads
        assert place.disk.reads == len(waits)
        await finish(waits[0].leave())

    place.run(scenario())
