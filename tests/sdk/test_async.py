"""The twins for asyncio: the same promises, and an event loop that is never blocked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from penstock import Admin, AsyncConsumer, AsyncProducer, Producer
from penstock.sdk import (
    ClosedError,
    DeserializationError,
    QueueFull,
    SettingsError,
    StateError,
    TopicPartition,
    Undelivered,
    Unreachable,
)
from tests.sdk.conftest import NewTopic
from tests.support.broker_process import HOST, free_port
from tests.support.raw_client import unique_name
from tests.support.topic_contents import topic_contents

pytestmark = pytest.mark.feature("K-19")


@pytest.fixture
def source(bootstrap: str, new_topic: NewTopic) -> str:
    """A topic with the numbers from 0 to 9."""
    topic = new_topic()
    with Producer(bootstrap, linger_ms=0) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number)
    return topic


def numbers(first: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, end)]


def test_a_producer(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(3)

    async def run() -> None:
        async with AsyncProducer(
            bootstrap, value_serializer="json", partitioner="round-robin", linger_ms=5
        ) as producer:
            first = await producer.send(topic, {"id": 0}, headers={"a": "b"})
            assert (first.topic, first.partition, first.offset) == (topic, 0, 0)
            deliveries = await asyncio.gather(*(producer.send(topic, {"id": number}) for number in range(1, 30)))
            assert [each.partition for each in deliveries] == [number % 3 for number in range(1, 30)]
            future = await producer.enqueue(topic, None)
            await producer.flush()
            assert (await future).offset == 10
        with pytest.raises(ClosedError, match="closed: make a new one"):
            await producer.send(topic, {})
        with pytest.raises(ClosedError):
            await producer.flush()
        await producer.close()

    asyncio.run(run())
    assert len(topic_contents(bootstrap, topic)) == 31


def test_nobody_there_and_a_full_queue() -> None:
    nobody = f"{HOST}:{free_port()}"

    async def run() -> None:
        async with AsyncProducer(nobody, delivery_timeout_ms=300, linger_ms=0) as producer:
            with pytest.raises(Unreachable, match="check that a broker runs there"):
                await producer.send("t", b"lost")
        full: AsyncProducer[Any] = AsyncProducer(nobody, queue_messages=1, queue_timeout_ms=1_500)
        waiting = await full.enqueue("t", b"waits")

        async def one_too_many() -> None:
            with pytest.raises(QueueFull):
                await full.send("t", b"one too many")

        assert await longest_pause(one_too_many()) < 1.0, "the loop stood still"
        with pytest.raises(Undelivered, match="1 message was not delivered"):
            await full.close(0.1)
        with pytest.raises(Exception, match="Purged"):
            await waiting

    asyncio.run(run())


async def longest_pause(work: Coroutine[Any, Any, Any]) -> float:
    """How long the loop stood still at most."""
    task = asyncio.create_task(work)
    longest, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    await task
    return longest


def test_the_loop_goes_on_while_a_consumer_waits(bootstrap: str, source: str, group: str) -> None:
    async def read() -> None:
        async with AsyncConsumer(bootstrap, source, group=group, idle_timeout_s=1.0) as consumer:
            assert [record.value async for record in consumer] == numbers(0, 10)

    assert asyncio.run(longest_pause(read())) < 0.9, "it stood still for a whole poll"


def test_a_consumer(bootstrap: str, source: str, group: str) -> None:
    events: list[tuple[str, list[TopicPartition]]] = []

    async def assigned(places: list[TopicPartition]) -> None:
        await asyncio.sleep(0.01)
        events.append(("assigned", places))

    async def run() -> None:
        places = [TopicPartition(source, 0)]
        async with AsyncConsumer(
            bootstrap,
            source,
            group=group,
            value_deserializer="json",
            on_assign=assigned,
            on_revoke=lambda found: events.append(("revoked", found)),
        ) as consumer:
            first = await anext(consumer)
            assert (first.value, consumer.assignment()) == (0, places)
            assert [record.value for record in await consumer.poll_batch(3)] == [1, 2, 3]
            await consumer.commit()
            await consumer.seek(source, 0, 2)
            record = await consumer.poll(10)
            assert record is not None
            assert record.value == 2
            await consumer.pause(*places)
            await consumer.resume(*places)
        assert events == [("assigned", places), ("revoked", places)]
        with pytest.raises(ClosedError):
            await consumer.poll()
        await consumer.close()
        async with AsyncConsumer(bootstrap, source, group=group, value_deserializer="json") as consumer:
            assert (await anext(consumer)).value == 4

    asyncio.run(run())


def test_a_poll_that_is_cancelled_loses_nothing(bootstrap: str, source: str, group: str) -> None:
    async def run() -> None:
        async with AsyncConsumer(bootstrap, source, group=group) as consumer:
            found: list[bytes] = []
            while len(found) < 10:
                try:
                    record = await asyncio.wait_for(consumer.poll(5), 0.02)
                except TimeoutError:
                    continue
                if record is not None:
                    found.append(record.value)
            assert found == numbers(0, 10)

    asyncio.run(run())


def test_stop_ends_the_iteration(bootstrap: str, source: str) -> None:
    async def run() -> None:
        async with AsyncConsumer(bootstrap, source) as consumer:
            asyncio.get_running_loop().call_later(1.0, consumer.stop)
            assert [record.value async for record in consumer] in (numbers(0, 10), [])

    asyncio.run(run())


def test_bad_records(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer:
        producer.send(topic, b"bad")

    async def run() -> None:
        async with AsyncConsumer(bootstrap, topic, value_deserializer="json") as consumer:
            with pytest.raises(DeserializationError, match="offset 0"):
                await consumer.poll(10)
        async with AsyncConsumer(bootstrap, topic, value_deserializer="json", on_bad_record="skip") as consumer:
            assert await consumer.poll(2) is None
            assert consumer.skipped_count == 1

        async def wrong(_: DeserializationError) -> None: ...

        with pytest.raises(SettingsError, match="on_bad_record is a coroutine function: give a plain one"):
            AsyncConsumer(bootstrap, topic, on_bad_record=wrong)

    asyncio.run(run())


@pytest.mark.feature("K-07")
def test_exactly_once(bootstrap: str, source: str, group: str, new_topic: NewTopic) -> None:
    target = new_topic()

    async def run() -> None:
        async with (
            AsyncProducer(bootstrap, transactional_id=unique_name("txn"), linger_ms=0) as producer,
            AsyncConsumer(bootstrap, source, group=group, delivery="exactly-once", producer=producer) as consumer,
        ):
            done, failed = 0, False
            while done < 10:
                try:
                    async with consumer.transaction(4) as records:
                        for record in records:
                            await producer.enqueue(target, record.value)
                        if done and not failed:
                            failed = True
                            raise KeyError
                    assert records.is_committed
                    done += len(records)
                except KeyError:
                    assert not records.is_committed
            with pytest.raises(StateError, match="records come in transactions"):
                await consumer.poll()
            async with producer.transaction():
                await producer.send(target, b"alone")

    asyncio.run(run())
    assert [each.value for each in topic_contents(bootstrap, target)] == [*numbers(0, 10), b"alone"]


@pytest.mark.feature("K-07")
def test_transactions_of_tasks_that_are_cancelled(bootstrap: str, source: str, group: str, new_topic: NewTopic) -> None:
    """At every moment, before they begin and at their end: all is copied once, and nothing hangs."""
    target = new_topic()

    async def run() -> None:
        async with (
            AsyncProducer(bootstrap, transactional_id=unique_name("txn"), linger_ms=0) as producer,
            AsyncConsumer(bootstrap, source, group=group, delivery="exactly-once", producer=producer) as consumer,
        ):

            async def copy() -> None:
                async with consumer.transaction(1, 0.2) as records:
                    for record in records:
                        await producer.send(target, record.value)

            async def lonely() -> None:
                async with producer.transaction():
                    await asyncio.sleep(0.01)

            for milliseconds in (0, 1, 2, 5, 10, 20, 50, 100, 200):
                for work in (copy(), lonely()):
                    task = asyncio.create_task(work)
                    await asyncio.sleep(milliseconds / 1000)
                    task.cancel()
                    await asyncio.wait([task])
            while sum((await asyncio.to_thread(lag)).values()) or not await asyncio.to_thread(lag):
                await copy()

    def lag() -> dict[TopicPartition, int]:
        with Admin(bootstrap) as admin:
            known = group in [each.name for each in admin.list_groups()]
            return admin.group_lag(group) if known else {}

    asyncio.run(run())
    assert [each.value for each in topic_contents(bootstrap, target)] == numbers(0, 10)


@pytest.mark.feature("K-08", "K-19")
def test_a_coroutine_may_commit_what_goes(bootstrap: str, new_topic: NewTopic, group: str) -> None:
    """At a rebalance and at the end, while the consumer's own thread waits for it."""
    topic = new_topic(2)

    async def run() -> None:
        committed: list[int] = []

        async def revoked(places: list[TopicPartition]) -> None:
            await asyncio.wait_for(first.commit(), 10)
            committed.append(len(places))

        async with AsyncProducer(bootstrap, partitioner="round-robin") as producer:
            await asyncio.gather(*(producer.send(topic, b"%d" % number) for number in range(4)))
        first = AsyncConsumer(bootstrap, topic, group=group, auto_commit=False, on_revoke=revoked)
        assert await first.poll(20) is not None
        async with AsyncConsumer(bootstrap, topic, group=group) as second:
            while not second.assignment():
                await asyncio.gather(first.poll(0.2), second.poll(0.2))
            assert committed == [2]
        while len(first.assignment()) < 2:
            await first.poll(0.2)
        await first.close()
        assert committed[-1] == 2
        assert len(committed) == 3

    asyncio.run(asyncio.wait_for(run(), 60))


def test_no_loop_no_twin(bootstrap: str) -> None:
    makers: list[Callable[[], object]] = [lambda: AsyncProducer(bootstrap), lambda: AsyncConsumer(bootstrap, "t")]
    for make in makers:
        with pytest.raises(RuntimeError, match="no running event loop"):
            make()
