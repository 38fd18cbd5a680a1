"""Transactions over more partitions than files may be open: markers come in portions, in turns, and all of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

import pytest

from penstock.broker.transactions import marker_queue, markers
from penstock.broker.transactions.marker_queue import PORTION, UNFLUSHED_MAX, MarkerQueue
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.model.errors import ErrorCode
from penstock.model.topic_partition import TopicPartition
from tests.support.group_world import run, settle
from tests.support.transaction_world import TransactionWorld

SECOND = 2
TIMEOUT_MS = 1000
WIDE = 4 * UNFLUSHED_MAX


def places(topic: str = "wide", count: int = WIDE) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for index in range(count)]


async def begun(world: TransactionWorld, name: str, where: list[TopicPartition]) -> ProducerIdentity:
    """A transaction over the partitions of a new topic, without batches: markers are written all the same."""
    await world.create_topic(where[0].topic, len(where))
    sender = await world.transactions.init_producer_id(name, TIMEOUT_MS, None)
    await world.transactions.add_partitions(name, sender, where, SECOND)
    return sender


async def decided(world: TransactionWorld, *senders: tuple[str, ProducerIdentity]) -> None:
    """Their ends are on disk, and flushes are held from here on."""
    world.engine.hold_flushes()
    ends = [
        asyncio.create_task(world.transactions.end(name, sender, commit=True, version=SECOND))
        for name, sender in senders
    ]
    await settle()
    flush_round(world)
    await asyncio.gather(*ends)
    await turns()


def flush_round(world: TransactionWorld) -> None:
    """Flush what is written now, and not what comes while it is told."""
    for log in [log for log in world.engine.logs.values() if log.flushed < log.log_end]:
        log.flushed = log.log_end
        world.partitions.on_flushed(log)


async def turns() -> None:
    """As many turns of the loop as a few hundred markers may need."""
    for _ in range(2 * WIDE):
        await asyncio.sleep(0)


async def complete(world: TransactionWorld, name: str) -> None:
    while name in world.transactions.completions:
        await world.transactions.completions.wait(name)


def unflushed(world: TransactionWorld, where: Iterable[TopicPartition]) -> int:
    return sum(world.log(place).log_end > world.log(place).flushed for place in where)


def marked(world: TransactionWorld, where: Iterable[TopicPartition]) -> int:
    return sum(len(world.log(place).markers) for place in where)


def test_markers_wait_for_those_before_them_to_be_on_disk() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            await decided(world, ("tx", await begun(world, "tx", places())))
            seen = []
            while marked(world, places()) < WIDE:
                seen.append(unflushed(world, places()))
                assert world.of("tx").state is TransactionState.PREPARE_COMMIT
                flush_round(world)
                await turns()
            assert max(seen) == UNFLUSHED_MAX
            assert world.of("tx").state is TransactionState.PREPARE_COMMIT, "the last ones are not on disk"
            world.engine.hold_flushes(hold=False)
            flush_round(world)
            await turns()
            assert world.of("tx").state is TransactionState.COMPLETE_COMMIT
            assert all(len(world.log(place).markers) == 1 for place in places())

    run(test())


def test_all_transactions_together_have_so_many_unflushed_markers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marker_queue, "TURN_NS", -1)  # so that none has all before the next one comes

    async def test() -> None:
        async with TransactionWorld() as world:
            names = [f"tx{index}" for index in range(4)]
            senders = [(name, await begun(world, name, places(name, UNFLUSHED_MAX))) for name in names]
            await decided(world, *senders)
            everywhere = [place for name in names for place in places(name, UNFLUSHED_MAX)]
            assert unflushed(world, everywhere) == UNFLUSHED_MAX
            assert all(marked(world, places(name, UNFLUSHED_MAX)) for name in names), "each has had its portion"
            world.engine.hold_flushes(hold=False)
            flush_round(world)
            await turns()
            assert {world.of(name).state for name in names} == {TransactionState.COMPLETE_COMMIT}

    run(test())


def test_a_small_transaction_does_not_wait_for_the_rest_of_a_large_one() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            small = await begun(world, "small", places("narrow", 2))
            await decided(world, ("tx", await begun(world, "tx", places())))
            await decided(world, ("small", small))  # its flush makes room
            assert marked(world, places()) < WIDE
            assert marked(world, places("narrow", 2)) == 2

    run(test())


class Crowd:
    """An ending whose markers are flushed at once, each of which brings a new transaction."""

    def __init__(self, queue: MarkerQueue, written: list[int], size: int) -> None:
        self._queue = queue
        self._written = written
        self._size = self._left = size

    @property
    def is_pending(self) -> bool:
        return self._left > 0

    def write_next(self) -> None:
        self._left -= 1
        self._written.append(self._size)
        if len(self._written) < WIDE:
            self._queue.add(Crowd(self._queue, self._written, 1))
        self._queue.flushed()


def test_many_small_transactions_do_not_stop_a_large_one() -> None:
    async def test() -> None:
        queue, written = MarkerQueue(), list[int]()
        queue.add(Crowd(queue, written, 3 * PORTION))
        await turns()
        assert written[: 6 * PORTION].count(3 * PORTION) == 3 * PORTION

    run(test())


def test_others_have_their_turns_while_markers_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marker_queue, "TURN_NS", -1)  # every marker takes as long as a turn may

    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, "tx", places())
            await world.transactions.end("tx", sender, commit=False, version=SECOND)
            steps, before = [], marked(world, places())
            while before < WIDE:
                await asyncio.sleep(0)
                after = marked(world, places())
                steps.append(after - before)
                before = after
            assert max(steps) <= PORTION
            await turns()
            assert world.of("tx").state is TransactionState.COMPLETE_ABORT

    run(test())


@pytest.mark.parametrize("flushes", [0, 1, 2])
def test_a_start_finishes_what_was_written_in_part(flushes: int) -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            await decided(world, ("tx", await begun(world, "tx", places())))
            for _ in range(flushes):
                flush_round(world)
                await turns()
            assert 0 < marked(world, places()) < WIDE
            world.engine.hold_flushes(hold=False)
        async with world.restarted() as again:
            await turns()
            assert again.of("tx").state is TransactionState.COMPLETE_COMMIT
            for place in places():
                assert {each.is_commit for each in again.log(place).markers} == {True}

    run(test())


def test_a_coordinator_that_has_stopped_writes_no_more() -> None:
    async def test() -> None:
        async with TransactionWorld() as world:
            await decided(world, ("tx", await begun(world, "tx", places())))
        written = marked(world, places())
        flush_round(world)
        await turns()
        assert marked(world, places()) == written < WIDE

    run(test())


def test_logs_that_take_no_markers_are_told_of_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(markers, "RETRY_SECONDS", 0.01)

    async def test() -> None:
        async with TransactionWorld() as world:
            sender = await begun(world, "tx", places())
            for place in places():
                world.log(place).refusal = ErrorCode.KAFKA_STORAGE_ERROR
            await world.transactions.end("tx", sender, commit=True, version=SECOND)
            await asyncio.sleep(0.1)  # several tries
            assert world.of("tx").state is TransactionState.PREPARE_COMMIT
            for place in places():
                world.log(place).refusal = None
            await asyncio.wait_for(complete(world, "tx"), 10)
            assert all(len(world.log(place).markers) == 1 for place in places())

    with caplog.at_level(logging.WARNING):
        run(test())
    assert sum("cannot take a marker" in each.getMessage() for each in caplog.records) == 1


def test_an_error_nobody_thought_of_does_not_stop_other_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markers, "RETRY_SECONDS", 0.01)

    async def test() -> None:
        async with TransactionWorld() as world:
            broken = await begun(world, "broken", places("broken", 1))
            sender = await begun(world, "tx", places("fine", 2))

            def fail(*_: object) -> None:
                raise RuntimeError("whatever it is")

            log = world.log(TopicPartition("broken", 0))
            healthy = log.append_marker
            monkeypatch.setattr(log, "append_marker", fail)
            await world.transactions.end("broken", broken, commit=True, version=SECOND)
            await world.transactions.end("tx", sender, commit=True, version=SECOND)
            await settle()
            assert world.of("tx").state is TransactionState.COMPLETE_COMMIT
            assert world.of("broken").state is TransactionState.PREPARE_COMMIT
            monkeypatch.setattr(log, "append_marker", healthy)
            await asyncio.wait_for(complete(world, "broken"), 10)

    run(test())
