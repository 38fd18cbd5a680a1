"""`penstock.Admin` and its twin: topics, configs, groups, records, transactions."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Admin, AsyncAdmin, Consumer, Producer
from penstock.sdk import (
    AlreadyExists,
    ClosedError,
    Fenced,
    GroupInUse,
    InvalidRequest,
    NotFound,
    SettingsError,
    StateError,
    TopicPartition,
    Unreachable,
)
from tests.sdk.conftest import NewTopic
from tests.support.broker_process import HOST, free_port
from tests.support.raw_client import unique_name

pytestmark = pytest.mark.feature("K-19")


def send(bootstrap: str, topic: str, count: int, partition: int = 0) -> None:
    with Producer(bootstrap, linger_ms=0) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number, partition=partition)


def committed(bootstrap: str, topic: str, group: str, count: int) -> None:
    """A group that has handled so many records and has no members."""
    with Consumer(bootstrap, topic, group=group) as consumer:
        while count:
            count -= consumer.poll(1) is not None
        consumer.commit()


# --- topics ----------------------------------------------------------------------------------------------------------


def test_the_life_of_a_topic(admin: Admin, bootstrap: str) -> None:
    name = unique_name("admin")
    admin.create_topic(name, partitions=2, replication=1, config={"retention.ms": 86_400_000})
    assert name in admin.list_topics()
    send(bootstrap, name, 3, partition=1)
    described = admin.describe_topic(name)
    assert (described.name, described.is_internal) == (name, False)
    assert [(each.partition, each.start, each.end) for each in described.partitions] == [(0, 0, 0), (1, 0, 3)]
    assert all(each.leader in each.replicas and each.in_sync for each in described.partitions)
    admin.add_partitions(name, 3)
    assert len(admin.describe_topic(name).partitions) == 3
    admin.delete_topic(name)
    assert name not in admin.list_topics()


def test_internal_topics_are_shown_when_asked_for(
    admin: Admin, bootstrap: str, new_topic: NewTopic, group: str
) -> None:
    topic = new_topic()
    send(bootstrap, topic, 1)
    committed(bootstrap, topic, group, 1)
    assert "__consumer_offsets" in admin.list_topics(internal=True)
    assert "__consumer_offsets" not in admin.list_topics()


def test_topics_that_are_refused(admin: Admin, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    with pytest.raises(AlreadyExists, match="take another name, or delete it first") as caught:
        admin.create_topic(topic)
    assert caught.value.code == "TOPIC_ALREADY_EXISTS"
    with pytest.raises(InvalidRequest):
        admin.create_topic("not a name")
    with pytest.raises(InvalidRequest):
        admin.create_topic("wrong-config", config={"retention.ms": "soon"})
    with pytest.raises(InvalidRequest):
        admin.add_partitions(topic, 1)
    asks: list[Callable[[str], object]] = [admin.describe_topic, admin.delete_topic, admin.topic_config]
    for ask in asks:
        with pytest.raises(NotFound):
            ask("not-there")


def test_arguments_that_are_refused(admin: Admin, new_topic: NewTopic) -> None:
    """Before anything is asked; 0 partitions are not the broker's default."""
    topic, wrong = new_topic(2), "refused"
    bad: Any
    for bad in (0, -1, "2", True):
        with pytest.raises(SettingsError, match=f"partitions={bad!r}: give a number from 1 to 100000"):
            admin.create_topic(wrong, partitions=bad)
        with pytest.raises(SettingsError, match=f"replication={bad!r}: give a number from 1 to 32767"):
            admin.create_topic(wrong, replication=bad)
        with pytest.raises(SettingsError, match=f"total={bad!r}: give a number"):
            admin.add_partitions(topic, bad)
    asks: list[Callable[[Any], object]] = [
        admin.create_topic,
        admin.delete_topic,
        admin.topic_config,
        admin.delete_group,
        lambda name: admin.add_partitions(name, 3),
        lambda name: admin.alter_topic_config(name, {"retention.ms": 1}),
        lambda name: admin.alter_topic_config(topic, {name: 1}),
        lambda name: admin.alter_topic_config(topic, remove=[name]),
        lambda name: admin.reset_offsets(name, "earliest", topic=topic),
    ]
    for bad in ("", 7, None, "\ud800", "a\0b"):
        for ask in asks:
            with pytest.raises(SettingsError, match="give its name, a string"):
                ask(bad)
    with pytest.raises(SettingsError, match=r"config=.*give a dict"):
        admin.create_topic(wrong, config=["retention.ms"])  # type: ignore[arg-type]
    assert wrong not in admin.list_topics()


# --- configs ---------------------------------------------------------------------------------------------------------


def test_configs(admin: Admin, new_topic: NewTopic) -> None:
    topic = new_topic()
    assert admin.topic_config(topic)["cleanup.policy"].is_default
    admin.alter_topic_config(topic, {"cleanup.policy": "compact", "retention.ms": 1_000_000})
    changed = admin.topic_config(topic)
    assert (changed["cleanup.policy"].value, changed["cleanup.policy"].is_default) == ("compact", False)
    assert changed["cleanup.policy"].source == "dynamic_topic_config"
    admin.alter_topic_config(topic, remove=["retention.ms"])
    after = admin.topic_config(topic)
    assert (after["cleanup.policy"].value, after["retention.ms"].is_default) == ("compact", True)
    with pytest.raises(SettingsError, match="nothing to change: give values="):
        admin.alter_topic_config(topic)
    with pytest.raises(InvalidRequest):
        admin.alter_topic_config(topic, {"cleanup.policy": "shred"})


def test_configs_of_a_broker(admin: Admin, new_topic: NewTopic) -> None:
    leader = admin.describe_topic(new_topic()).partitions[0].leader
    assert "log.retention.ms" in admin.broker_config(leader)
    with pytest.raises(NotFound, match=f"no broker 99: there are {leader}"):
        admin.broker_config(99)


# --- records ---------------------------------------------------------------------------------------------------------


def test_delete_records(admin: Admin, bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    send(bootstrap, topic, 5)
    send(bootstrap, topic, 5, partition=1)
    assert admin.delete_records(topic, {0: 2, 1: "end"}) == {0: 2, 1: 5}
    assert [(each.start, each.end) for each in admin.describe_topic(topic).partitions] == [(2, 5), (5, 5)]
    with pytest.raises(InvalidRequest):
        admin.delete_records(topic, {0: 100})
    with pytest.raises(SettingsError, match='the first record to keep, or "end"'):
        admin.delete_records(topic, {0: -3})
    with pytest.raises(NotFound):
        admin.delete_records("not-there", {0: 0})


# --- groups ----------------------------------------------------------------------------------------------------------


def test_the_life_of_a_group(admin: Admin, bootstrap: str, new_topic: NewTopic, group: str) -> None:
    topic = new_topic()
    place = TopicPartition(topic, 0)
    send(bootstrap, topic, 5)
    with Consumer(bootstrap, topic, group=group, client_id="reader", instance_id="one") as consumer:
        assert consumer.poll(10) is not None
        consumer.commit()
        described = admin.describe_group(group)
        assert (described.state, described.assignor, described.lag) == ("stable", "range", 4)
        (member,) = described.members
        assert (member.client_id, member.instance_id, member.partitions) == ("reader", "one", (place,))
        for refused in (lambda: admin.delete_group(group), lambda: admin.reset_offsets(group, "earliest")):
            with pytest.raises(GroupInUse, match="stop its consumers first"):
                refused()


def test_lag_and_resets(admin: Admin, bootstrap: str, new_topic: NewTopic, group: str) -> None:
    topic, other = new_topic(), new_topic(2)
    place = TopicPartition(topic, 0)
    send(bootstrap, topic, 5)
    committed(bootstrap, topic, group, 2)
    assert next(each for each in admin.list_groups() if each.name == group).state == "empty"
    assert admin.group_lag(group) == {place: 3}
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    for to, offset in (("earliest", 0), ("latest", 5), (3, 3), (99, 5), (later, 5)):
        assert admin.reset_offsets(group, to) == {place: offset}  # type: ignore[arg-type]
        assert admin.group_lag(group) == {place: 5 - offset}
    assert admin.reset_offsets(group, "earliest", topic=other, partitions=[1]) == {TopicPartition(other, 1): 0}
    admin.delete_group(group)
    assert group not in [each.name for each in admin.list_groups()]


def test_resets_that_are_refused(admin: Admin, new_topic: NewTopic, group: str) -> None:
    topic = new_topic()
    with pytest.raises(NotFound, match=r"group .* does not exist: `Admin.list_groups` shows all groups"):
        admin.reset_offsets(group, "earliest")
    with pytest.raises(SettingsError, match="partitions without a topic"):
        admin.reset_offsets(group, "earliest", partitions=[0])
    with pytest.raises(NotFound, match="has no partition 3: it has 0 to 0"):
        admin.reset_offsets(group, "earliest", topic=topic, partitions=[3])
    with pytest.raises(SettingsError, match=r"to='start': give \"earliest\""):
        admin.reset_offsets(group, "start", topic=topic)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="a time without a zone"):
        admin.reset_offsets(group, datetime.datetime(2026, 1, 1), topic=topic)  # noqa: DTZ001
    asks: list[Callable[[str], object]] = [admin.describe_group, admin.group_lag, admin.delete_group]
    for ask in asks:
        with pytest.raises(NotFound):
            ask("not-there")


# --- transactions ----------------------------------------------------------------------------------------------------


def test_transactions(admin: Admin, bootstrap: str, new_topic: NewTopic) -> None:
    topic, name = new_topic(), unique_name("txn")
    producer = Producer(bootstrap, transactional_id=name, linger_ms=0)
    open_one = producer.transaction()
    open_one.__enter__()
    producer.send(topic, b"open").result(30)
    assert name in [each.transactional_id for each in admin.list_transactions(states=["Ongoing"])]
    described = admin.describe_transaction(name)
    assert (described.state, described.partitions) == ("Ongoing", (TopicPartition(topic, 0),))
    assert abs((described.started_ms or 0) - time.time() * 1000) < 60_000
    admin.abort_transaction(name)
    assert admin.describe_transaction(name).started_ms is None
    with pytest.raises(StateError, match="has no open transaction"):
        admin.abort_transaction(name)
    with pytest.raises(Fenced, match="use one transactional_id"):
        open_one.__exit__(None, None, None)
    producer.close()


def test_transactions_that_do_not_exist(admin: Admin) -> None:
    with pytest.raises(NotFound, match=r"`Admin\.list_transactions` shows all of them"):
        admin.describe_transaction("not-there")
    with pytest.raises(NotFound):
        admin.abort_transaction("not-there")
    with pytest.raises(SettingsError, match="'Open': there are Empty, Ongoing"):
        admin.list_transactions(states=["Open"])
    with pytest.raises(SettingsError, match="cannot be empty"):
        admin.describe_transaction("")


# --- the client itself -----------------------------------------------------------------------------------------------


def test_nobody_there() -> None:
    address = f"{HOST}:{free_port()}"
    with Admin(address, request_timeout_ms=500) as admin:
        for ask in (admin.list_topics, admin.list_groups, lambda: admin.create_topic("orders")):
            with pytest.raises(Unreachable, match=rf"no Kafka broker answered at {address} within 0.5 s"):
                ask()


def test_closed(bootstrap: str) -> None:
    admin = Admin(bootstrap)
    admin.close()
    admin.close()
    uses: list[Callable[[], object]] = [
        admin.__enter__,
        admin.list_topics,
        admin.list_groups,
        admin.list_transactions,
        lambda: admin.create_topic("t"),
        lambda: admin.describe_transaction("t"),
        lambda: admin.abort_transaction("t"),
    ]
    for use in uses:
        with pytest.raises(ClosedError, match="closed: make a new one"):
            use()


def test_the_twin(bootstrap: str, group: str) -> None:
    name = unique_name("twin")

    async def run() -> None:
        async with AsyncAdmin(bootstrap) as admin:
            await admin.create_topic(name, partitions=1)
            await asyncio.to_thread(send, bootstrap, name, 3)
            await asyncio.to_thread(committed, bootstrap, name, group, 1)
            assert name in await admin.list_topics()
            await admin.add_partitions(name, 2)
            assert [each.end for each in (await admin.describe_topic(name)).partitions] == [3, 0]
            await admin.alter_topic_config(name, {"retention.ms": 5_000_000})
            assert (await admin.topic_config(name))["retention.ms"].value == "5000000"
            assert (await admin.describe_group(group)).lag == 2
            assert group in [each.name for each in await admin.list_groups()]
            assert await admin.reset_offsets(group, "earliest") == {TopicPartition(name, 0): 0}
            assert await admin.group_lag(group) == {TopicPartition(name, 0): 3}
            await admin.delete_group(group)
            assert await admin.delete_records(name, {0: 1}) == {0: 1}
            assert await admin.broker_config((await admin.describe_topic(name)).partitions[0].leader)
            await admin.list_transactions()
            for ask in (admin.describe_transaction, admin.abort_transaction):
                with pytest.raises(NotFound):
                    await ask("not-there")
            await admin.delete_topic(name)

    asyncio.run(run())
