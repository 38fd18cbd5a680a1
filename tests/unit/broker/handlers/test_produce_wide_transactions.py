"""Produce requests that append in turns: batches of a transaction come before its markers, whoever ends it meanwhile.
And a bounded number of all batches is not on disk.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest

from penstock.broker.handlers.records import produce
from penstock.broker.produce import wide_appends
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.net.reply import Reply
from penstock.protocol.kafka.apis import PRODUCE
from penstock.protocol.kafka.messages import response_reader
from tests.support import admin_broker
from tests.support.admin_broker import AdminBroker
from tests.support.group_world import settle
from tests.support.transaction_world import ProducingEngine, ProducingLog
from tests.support.wire import encode_body

pytestmark = [pytest.mark.feature("K-07")]

AT_ONCE, UNFLUSHED, WIDE = 40, 60, 200
NAME = "tx"
FIRST, SECOND = 11, 12
"""Versions of Produce, of the two generations of the protocol."""


class Node(AdminBroker):
    """A broker over logs in memory, whose flushes are made by hand where a test says so."""

    def __init__(self) -> None:
        self.hand = ProducingEngine()
        super().__init__(logs=self.hand, transactions={"topic_partitions": 1})
        self.hand.start(self.partitions.on_flushed, lambda *_: None)
        self.run(self.broker.transactions.start())
        self.run(self.broker.transactions.prepare())
        self.create("wide", WIDE)
        self.create("other", WIDE)

    async def begin(self) -> ProducerIdentity:
        return await self.broker.transactions.init_producer_id(NAME, 60_000, None)

    def places(self, topic: str = "wide") -> list[TopicPartition]:
        return [TopicPartition(topic, index) for index in range(WIDE)]

    def logs_of(self, topic: str = "wide") -> list[ProducingLog]:
        return [log for log in self.hand.logs.values() if log.topic == topic and isinstance(log, ProducingLog)]

    def appended(self, topic: str = "wide") -> int:
        return sum(bool(log.batches) for log in self.logs_of(topic))

    def unflushed(self) -> int:
        return sum(log.flushed < log.log_end for log in (*self.logs_of(), *self.logs_of("other")))

    def markers(self) -> int:
        return sum(len(log.markers) for log in self.logs_of())

    def flush(self) -> None:
        """Flush what is written now, and not what comes while it is told."""
        for log in [log for log in self.hand.logs.values() if log.flushed < log.log_end]:
            log.flushed = log.log_end
            self.partitions.on_flushed(log)

    async def flush_until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self.flush()
                await asyncio.sleep(0)

    def send(self, version: int, sender: ProducerIdentity | None, topic: str = "wide", **more: Any) -> Served:
        """A request with a batch for each partition, under way."""
        batch = build_batch(
            [NewRecord(None, b"x")],
            timestamp=1,
            producer_id=-1 if sender is None else sender.producer_id,
            producer_epoch=-1 if sender is None else sender.epoch,
            base_sequence=-1 if sender is None else 0,
            transactional=sender is not None,
        )
        rows = [{"index": index, "records": bytes(batch)} for index in range(WIDE)]
        values: dict[str, Any] = {"transactional_id": sender and NAME, "acks": -1, "timeout": 30_000}
        values |= {"topic_data": [{"name": topic, "partition_data": rows}]} | more
        request = self.request(PRODUCE, version, b"")
        request.frame = memoryview(bytearray(encode_body("produce", version, values)))  # logs write into it
        reply = produce.handle(self.broker, request)
        assert isinstance(reply, Reply)
        return Served(version, asyncio.ensure_future(reply.wait()))


class Served:
    def __init__(self, version: int, task: asyncio.Future[Any]) -> None:
        self.version = version
        self.task = task

    async def codes(self) -> list[int]:
        body = b"".join(bytes(part) for part in await self.task)
        answer, size = response_reader(PRODUCE, self.version)(body, 0)
        assert size == len(body)
        return [int(each.error_code) for each in answer.responses[0].partition_responses]


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    blocks = itertools.count(1000, 1000)

    async def next_block(size: int) -> int:
        return next(blocks)

    monkeypatch.setattr(admin_broker, "_no_block", next_block)
    monkeypatch.setattr(produce, "APPENDED_AT_ONCE_MAX", AT_ONCE)
    monkeypatch.setattr(wide_appends, "UNFLUSHED_MAX", UNFLUSHED)
    monkeypatch.setattr(wide_appends, "RESUMED_AT", UNFLUSHED // 2)
    with Node() as made:
        yield made
        made.run(made.broker.transactions.stop())


async def commit(node: Node, sender: ProducerIdentity, version: int) -> None:
    await node.broker.transactions.end(NAME, sender, commit=True, version=2 if version == SECOND else 1)


async def abort(node: Node, sender: ProducerIdentity, version: int) -> None:
    await node.broker.transactions.end(NAME, sender, commit=False, version=2 if version == SECOND else 1)


async def time_out(node: Node, sender: ProducerIdentity, version: int) -> None:
    assert await node.broker.transactions.abort_open(node.broker.transactions.find(NAME)[1])


async def fence(node: Node, sender: ProducerIdentity, version: int) -> None:
    with pytest.raises(KafkaError) as refused:
        await node.begin()
    assert refused.value.code is ErrorCode.CONCURRENT_TRANSACTIONS


Ender = Callable[[Node, ProducerIdentity, int], Coroutine[Any, Any, None]]


async def half_appended(node: Node, version: int) -> tuple[ProducerIdentity, Served]:
    """A transactional request that waits for the disk, with some of its batches in the logs."""
    sender = await node.begin()
    if version < SECOND:
        await node.broker.transactions.add_partitions(NAME, sender, node.places(), 1)
    node.hand.hold_flushes()
    served = node.send(version, sender)
    await until(lambda: node.appended() >= UNFLUSHED)
    await settle()
    assert 0 < node.appended() < WIDE
    assert not served.task.done()
    return sender, served


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  a state of several parts, not an event
            await asyncio.sleep(0)


async def ended(node: Node, ending: Awaitable[None]) -> None:
    """The decision is on disk, and with it what was appended before: the request goes on."""
    task = asyncio.ensure_future(ending)
    await settle()
    await node.flush_until(task.done)
    await task


def check_complete(node: Node, *, is_commit: bool) -> None:
    for log in node.logs_of():
        assert [read_header(batch).is_control for batch in log.batches] == [False, True], log.partition
        assert [marker.is_commit for marker in log.markers] == [is_commit]
        assert log.open_transactions() == []


@pytest.mark.parametrize("version", [FIRST, SECOND])
@pytest.mark.parametrize(("ender", "is_commit"), [(commit, True), (abort, False), (time_out, False), (fence, False)])
def test_an_end_in_the_middle_of_a_request_writes_its_markers_behind_all_batches(
    node: Node, version: int, ender: Ender, is_commit: bool
) -> None:
    async def test() -> None:
        sender, served = await half_appended(node, version)
        await ended(node, ender(node, sender, version))
        assert node.appended() < WIDE
        await node.flush_until(served.task.done)
        assert set(await served.codes()) == {ErrorCode.NONE}
        await node.flush_until(lambda: NAME not in node.broker.transactions.completions)
        check_complete(node, is_commit=is_commit)

    node.run(test())


@pytest.mark.parametrize("version", [FIRST, SECOND])
def test_no_marker_is_written_before_the_last_batch(node: Node, version: int) -> None:
    async def test() -> None:
        sender, served = await half_appended(node, version)
        await ended(node, commit(node, sender, version))
        while node.appended() < WIDE:
            assert node.markers() == 0
            assert node.broker.transactions.find(NAME)[1].state is TransactionState.PREPARE_COMMIT
            node.flush()
            await asyncio.sleep(0)
        await node.flush_until(served.task.done)
        await node.flush_until(lambda: node.markers() == WIDE)

    node.run(test())


@pytest.mark.parametrize("version", [FIRST, SECOND])
def test_a_client_that_leaves_in_the_middle_has_produced_all_the_same_and_its_end_goes_on(
    node: Node, version: int
) -> None:
    async def test() -> None:
        sender, served = await half_appended(node, version)
        served.task.cancel()
        await ended(node, abort(node, sender, version))
        await node.flush_until(lambda: node.markers() == WIDE)
        check_complete(node, is_commit=False)

    node.run(test())


def test_a_request_of_the_same_epoch_after_the_decision_stores_nothing(node: Node) -> None:
    """First generation: its partitions are still open in the logs, which alone would let it in."""

    async def test() -> None:
        sender, served = await half_appended(node, FIRST)
        await ended(node, commit(node, sender, FIRST))
        await until(lambda: node.unflushed() == UNFLUSHED)
        before = node.appended()
        assert set(await node.send(FIRST, sender).codes()) == {ErrorCode.NOT_ENOUGH_REPLICAS}
        assert node.appended() == before
        await node.flush_until(served.task.done)
        await node.flush_until(lambda: NAME not in node.broker.transactions.completions)
        check_complete(node, is_commit=True)

    node.run(test())


@pytest.mark.parametrize("version", [FIRST, SECOND])
def test_a_producer_that_was_fenced_stores_nothing_and_holds_up_no_end(node: Node, version: int) -> None:
    async def test() -> None:
        sender = await node.begin()
        await node.begin()
        expected = ErrorCode.INVALID_PRODUCER_EPOCH
        assert set(await node.send(version, sender).codes()) == {expected}
        assert node.appended() == 0
        assert node.broker.transactions.completions.hold_off(NAME)

    node.run(test())


def test_a_refused_record_of_the_coordinator_refuses_every_batch(node: Node) -> None:
    async def test() -> None:
        sender = await node.begin()
        (state,) = node.logs_of("__transaction_state")
        state.refusal = ErrorCode.KAFKA_STORAGE_ERROR
        assert set(await node.send(SECOND, sender).codes()) == {ErrorCode.KAFKA_STORAGE_ERROR}
        assert node.appended() == 0

    node.run(test())


def test_an_ordinary_transaction_over_many_partitions(node: Node) -> None:
    async def test() -> None:
        for version, is_commit in ((SECOND, True), (SECOND, False)):
            sender = await node.begin()
            assert set(await node.send(version, sender).codes()) == {ErrorCode.NONE}
            await (commit if is_commit else abort)(node, sender, version)
            await until(lambda: NAME not in node.broker.transactions.completions)
        for log in node.logs_of():
            assert [marker.is_commit for marker in log.markers] == [True, False]
            assert log.open_transactions() == []

    node.run(test())


# --- the disk ------------------------------------------------------------------------------------------------------


def test_so_many_batches_of_all_wide_requests_are_not_on_disk(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        sender = await node.begin()
        node.hand.hold_flushes()
        requests = [node.send(SECOND, sender)]
        await until(lambda: node.appended() >= UNFLUSHED)
        requests.append(node.send(9, None, "other"))
        most = 0
        while not all(each.task.done() for each in requests):
            for _ in range(20):
                await asyncio.sleep(0)
            most = max(most, node.unflushed())
            node.flush()
        assert most == UNFLUSHED
        for each in requests:
            assert set(await each.codes()) == {ErrorCode.NONE}
        assert (node.appended(), node.appended("other")) == (WIDE, WIDE)

    node.run(test())


def test_without_transactions_it_is_appended_at_once_while_the_disk_keeps_up(node: Node) -> None:
    async def test() -> None:
        node.hand.hold_flushes()
        first = node.send(9, None)
        assert node.appended() == WIDE
        second = node.send(9, None, "other")
        await settle()
        assert node.appended("other") == 0
        await node.flush_until(lambda: first.task.done() and second.task.done())
        assert set(await first.codes()) | set(await second.codes()) == {ErrorCode.NONE}

    node.run(test())


def test_a_disk_that_hangs_is_waited_for_as_long_as_the_request_says(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not appended by then is not stored; what was may be, as everywhere."""
    monkeypatch.setattr(produce, "LEAST_MS", 20)

    async def test() -> None:
        sender = await node.begin()
        node.hand.hold_flushes()
        served = node.send(SECOND, sender, timeout=20)
        await until(lambda: len(node.broker.produce_timeouts) > 0)
        stored = node.appended()
        assert 0 < stored < WIDE
        node.flush()
        codes = await served.codes()
        assert codes.count(ErrorCode.NONE) == stored
        assert codes.count(ErrorCode.REQUEST_TIMED_OUT) == WIDE - stored
        node.hand.hold_flushes(hold=False)
        await abort(node, sender, SECOND)
        await until(lambda: node.markers() == WIDE)

    node.run(test())


def test_a_wide_answer_is_encoded_once_though_the_disk_comes_later(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is wide enough to be encoded in a thread, and was answered because its time was over."""
    monkeypatch.setattr(produce, "LEAST_MS", 20)
    monkeypatch.setattr(produce, "PARTITIONS_AT_ONCE_MAX", AT_ONCE)

    async def test() -> None:
        node.hand.hold_flushes()
        served = node.send(9, None, timeout=20)
        await until(lambda: len(node.broker.produce_timeouts) > 0)
        async with asyncio.timeout(10):
            while node.broker.produce_timeouts.deadlines_ms:
                await node.broker.produce_timeouts.sweep()
                await asyncio.sleep(0.001)
        assert set(await served.codes()) == {ErrorCode.REQUEST_TIMED_OUT}
        node.flush()
        node.hand.hold_flushes(hold=False)
        assert set(await node.send(9, None, "other").codes()) == {ErrorCode.NONE}

    node.run(test())
