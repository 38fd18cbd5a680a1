"""Transactions of the SDK: all or nothing, zombies shut out, rebalances survived."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from penstock import Admin, Consumer, Producer
from penstock.sdk import (
    ClosedError,
    DeserializationError,
    Fenced,
    SettingsError,
    StateError,
    TopicPartition,
    TransactionAborted,
)
from tests.sdk.conftest import SESSION_TIMEOUT_MS, NewTopic
from tests.support.raw_client import unique_name
from tests.support.topic_contents import topic_contents
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-07", "K-19")

SHORT: Any = {
    "session_timeout_ms": SESSION_TIMEOUT_MS,
    "heartbeat_interval_ms": 300,
    "max_poll_interval_ms": SESSION_TIMEOUT_MS,
}


@pytest.fixture
def producer(bootstrap: str) -> Producer[Any]:
    return Producer(bootstrap, transactional_id=unique_name("txn"), linger_ms=0)


@pytest.fixture
def source(bootstrap: str, new_topic: NewTopic) -> str:
    """A topic with the numbers from 0 to 9."""
    topic = new_topic()
    with Producer(bootstrap, linger_ms=0) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number)
    return topic


def read(bootstrap: str, topic: str) -> list[bytes | None]:
    return [each.value for each in topic_contents(bootstrap, topic)]


# --- a producer alone ------------------------------------------------------------------------------------------------


def test_all_or_nothing(bootstrap: str, new_topic: NewTopic, producer: Producer[Any]) -> None:
    first, second = new_topic(), new_topic()
    with producer:
        with producer.transaction():
            producer.send(first, b"a")
            producer.send(second, b"b")
        with contextlib.suppress(KeyError), producer.transaction():
            producer.send(first, b"never")
            raise KeyError
        with producer.transaction():
            producer.send(second, b"c")
    assert (read(bootstrap, first), read(bootstrap, second)) == ([b"a"], [b"b", b"c"])


def test_misuse(bootstrap: str, new_topic: NewTopic, producer: Producer[Any]) -> None:
    topic = new_topic()
    with producer, producer.transaction():
        producer.send(topic, b"a")
        with pytest.raises(StateError, match="open already: end it before the next one begins"):
            producer.transaction().__enter__()
    with Producer(bootstrap) as plain, pytest.raises(SettingsError, match="no transactional_id: make it with"):
        plain.transaction().__enter__()
    with (
        Producer(bootstrap, transactional_id=unique_name("txn")) as outside,
        pytest.raises(StateError, match=r"no transaction is open: send within `with producer.transaction\(\):`"),
    ):
        outside.send(topic, b"b")
    assert read(bootstrap, topic) == [b"a"]


def test_a_zombie_is_shut_out(bootstrap: str, new_topic: NewTopic) -> None:
    topic, name = new_topic(), unique_name("txn")
    zombie = Producer(bootstrap, transactional_id=name, linger_ms=0)
    left_open = zombie.transaction()
    left_open.__enter__()
    zombie.send(topic, b"of a zombie").result(30)
    with Producer(bootstrap, transactional_id=name, linger_ms=0) as successor, successor.transaction():
        successor.send(topic, b"of its successor")
    with pytest.raises(Fenced, match="use one transactional_id or instance_id per process"):
        left_open.__exit__(None, None, None)
    zombie.close()
    assert read(bootstrap, topic) == [b"of its successor"]


# --- consume, transform, produce -------------------------------------------------------------------------------------


def copy(consumer: Consumer[Any], producer: Producer[Any], target: str, count: int) -> list[bytes]:
    """Until so many were copied, in transactions of three."""
    done: list[bytes] = []
    while len(done) < count:
        with consumer.transaction(3) as records:
            for record in records:
                producer.send(target, record.value)
        done += [record.value for record in records]
    return done


def numbers(first: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, end)]


def test_records_and_offsets_in_one_transaction(
    bootstrap: str, source: str, new_topic: NewTopic, group: str, producer: Producer[Any], admin: Admin
) -> None:
    target = new_topic()
    with producer, Consumer(bootstrap, source, group=group, delivery="exactly-once", producer=producer) as consumer:
        assert copy(consumer, producer, target, 6) == numbers(0, 6)
        wait_until(lambda: admin.group_lag(group) == {TopicPartition(source, 0): 4}, what="its markers are written")
        with contextlib.suppress(KeyError), consumer.transaction(3) as records:
            assert [record.value for record in records] == numbers(6, 9)
            producer.send(target, b"never")
            raise KeyError
        assert not records.is_committed
        assert admin.group_lag(group) == {TopicPartition(source, 0): 4}
        assert copy(consumer, producer, target, 4) == numbers(6, 10), "they came again"
        with consumer.transaction(timeout_s=0.1) as records:
            assert len(records) == 0
        assert records.is_committed
    assert read(bootstrap, target) == numbers(0, 10)


def test_a_member_that_lost_its_partitions_is_refused(
    bootstrap: str, source: str, new_topic: NewTopic, group: str, producer: Producer[Any]
) -> None:
    """It was away for longer than its session; another one has its partitions when it wants to commit."""
    target = new_topic()
    first = Consumer(bootstrap, source, group=group, delivery="exactly-once", producer=producer, **SHORT)
    late = first.transaction(3)
    records = late.__enter__()
    assert len(records) == 3 or wait_for_records(late)
    for record in late:
        producer.send(target, b"zombie:" + record.value)
    successor = Producer(bootstrap, transactional_id=unique_name("txn"), linger_ms=0)
    with (
        successor,
        Consumer(bootstrap, source, group=group, delivery="exactly-once", producer=successor) as second,
    ):
        assert copy(second, successor, target, 10) == numbers(0, 10)
        with pytest.raises(TransactionAborted, match="nothing of it took effect"):
            late.__exit__(None, None, None)
    first.close()
    producer.close()
    assert read(bootstrap, target) == numbers(0, 10)


def wait_for_records(transaction: Any) -> bool:
    """The first transaction may end before the group has given out partitions."""

    def again() -> bool:
        transaction.__exit__(None, None, None)
        transaction.__enter__()
        return bool(len(transaction) == 3)

    return wait_until(again, what="records")


def test_a_rebalance_in_the_middle(
    bootstrap: str, new_topic: NewTopic, group: str, producer: Producer[Any], admin: Admin
) -> None:
    """Partitions move between transactions and while one is open; nothing is lost and nothing doubled."""
    source, target = new_topic(4), new_topic()
    with Producer(bootstrap, linger_ms=0) as feed:
        for number in range(200):
            feed.send(source, b"%d" % number, partition=number % 4)
    second_producer: Producer[Any] = Producer(bootstrap, transactional_id=unique_name("txn"), linger_ms=0)
    options: Any = {"group": group, "delivery": "exactly-once", "heartbeat_interval_ms": 200}
    options["assignor"] = "cooperative-sticky"
    pairs: list[tuple[Consumer[Any], Producer[Any]]] = [
        (Consumer(bootstrap, source, producer=producer, **options), producer)
    ]
    done = 0
    aborted = 0
    while done < 200:
        if done > 40 and len(pairs) == 1:
            pairs.append((Consumer(bootstrap, source, producer=second_producer, **options), second_producer))
        for consumer, sender in pairs:
            try:
                with consumer.transaction(7, 0.2) as records:
                    for record in records:
                        sender.send(target, record.value)
                done += len(records)
            except TransactionAborted:
                aborted += 1
    for consumer, sender in pairs:
        consumer.close()
        sender.close()
    assert sorted(int(value or b"") for value in read(bootstrap, target)) == list(range(200))


def test_bad_records_can_go_out_with_the_transaction(
    bootstrap: str, new_topic: NewTopic, group: str, producer: Producer[Any], admin: Admin
) -> None:
    source, target, dead = new_topic(), new_topic(), new_topic()
    with Producer(bootstrap) as feed:
        for value in (b"1", b"bad", b"3", b"bad too"):
            feed.send(source, value)

    def bury(error: DeserializationError) -> None:
        producer.send(dead, error.value, headers={"offset": str(error.offset)})

    with (
        producer,
        Consumer(
            bootstrap,
            source,
            group=group,
            delivery="exactly-once",
            producer=producer,
            value_deserializer="json",
            on_bad_record=bury,
        ) as consumer,
    ):
        done = 0
        while done < 2:
            with consumer.transaction() as records:
                for record in records:
                    producer.send(target, b"%d" % record.value)
            done += len(records)

        def last_is_done() -> bool:
            with consumer.transaction(timeout_s=0.2):
                pass
            return sum(admin.group_lag(group).values()) == 0

        wait_until(last_is_done, what="the last one, a bad one, is done as well")
        assert consumer.skipped_count == 2
    assert (read(bootstrap, target), read(bootstrap, dead)) == ([b"1", b"3"], [b"bad", b"bad too"])


def test_a_bad_record_ends_a_transaction_before_it(
    bootstrap: str, new_topic: NewTopic, group: str, producer: Producer[Any]
) -> None:
    source, target = new_topic(), new_topic()
    with Producer(bootstrap) as feed:
        for value in (b"1", b"bad", b"3"):
            feed.send(source, value)
    with (
        producer,
        Consumer(
            bootstrap, source, group=group, delivery="exactly-once", producer=producer, value_deserializer="json"
        ) as consumer,
    ):
        seen: list[Any] = []
        while 3 not in seen:
            try:
                with consumer.transaction() as records:
                    for record in records:
                        producer.send(target, b"%d" % record.value)
                seen += [record.value for record in records]
            except DeserializationError as error:
                seen.append(error.offset * 100)
        assert seen == [1, 100, 3]
    assert read(bootstrap, target) == [b"1", b"3"]


def test_misuse_of_a_consumer(bootstrap: str, source: str, group: str, producer: Producer[Any]) -> None:
    consumer: Consumer[Any] = Consumer(bootstrap, source, group=group, delivery="exactly-once", producer=producer)
    for use in (consumer.poll, consumer.poll_batch, lambda: next(iter(consumer))):
        with pytest.raises(StateError, match="records come in transactions: use `with consumer"):
            use()
    with pytest.raises(StateError, match="committed by themselves"):
        consumer.commit()
    consumer.close()
    with pytest.raises(ClosedError), consumer.transaction():
        pass
    producer.close()
    with Consumer(bootstrap, source) as plain, pytest.raises(StateError, match="delivery='exactly-once'"):
        plain.transaction()
