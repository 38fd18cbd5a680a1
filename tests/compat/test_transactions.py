"""Transactions of the clients whose packages bring no tests of their own: committed, aborted, fenced, with offsets.

The chaos tests kill brokers and members under transactions; here each client goes once through what it can do.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from tests.compat.clients import kafkajs
from tests.compat.clients.aio import AioClient
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.kafkajs import KafkaJsClient
from tests.compat.clients.message import DEADLINE_S, Client, Message
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("K-07", "X-02"), pytest.mark.timeout(240)]


class Step(NamedTuple):
    """One transaction: what it writes, the offset that it commits for the group, and how it ends."""

    values: Sequence[bytes]
    offset: int
    commit: bool


STEPS = (
    Step([b"a", b"b"], 10, True),
    Step([b"lost"], 20, False),
    Step([b"c"], 30, True),
    Step([b"lost, too"], 40, False),
)
COMMITTED = [b"a", b"b", b"c"]
OFFSET = 30


class Place(NamedTuple):
    """Where it happens. Offsets are those of another topic, as of one that was read."""

    bootstrap: str
    topic: str
    source: str
    group: str
    transactional_id: str


def transact_with_confluent(place: Place) -> None:
    from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

    def make() -> Producer:
        made = Producer({"bootstrap.servers": place.bootstrap, "transactional.id": place.transactional_id})
        made.init_transactions(DEADLINE_S)
        return made

    group = Consumer({"bootstrap.servers": place.bootstrap, "group.id": place.group})
    first = make()
    for step in STEPS:
        first.begin_transaction()
        for value in step.values:
            first.produce(place.topic, value, partition=0)
        offsets = [TopicPartition(place.source, 0, step.offset)]
        first.send_offsets_to_transaction(offsets, group.consumer_group_metadata(), DEADLINE_S)
        (first.commit_transaction if step.commit else first.abort_transaction)(DEADLINE_S)
    group.close()
    make()
    first.begin_transaction()
    first.produce(place.topic, b"fenced", partition=0)
    with pytest.raises(KafkaException, match="_FENCED"):
        first.commit_transaction(DEADLINE_S)


def transact_with_aiokafka(place: Place) -> None:
    from aiokafka import AIOKafkaProducer, TopicPartition
    from aiokafka.errors import ProducerFenced

    async def transact() -> None:
        names = {"bootstrap_servers": place.bootstrap, "transactional_id": place.transactional_id}
        first, second = AIOKafkaProducer(**names), AIOKafkaProducer(**names)
        await first.start()
        for step in STEPS:
            await first.begin_transaction()
            for value in step.values:
                await first.send_and_wait(place.topic, value, partition=0)
            await first.send_offsets_to_transaction({TopicPartition(place.source, 0): step.offset}, place.group)
            await (first.commit_transaction() if step.commit else first.abort_transaction())
        await second.start()
        with pytest.raises(ProducerFenced):
            async with first.transaction():
                await first.send_and_wait(place.topic, b"fenced", partition=0)
        await second.stop()
        await first.stop()

    asyncio.run(asyncio.wait_for(transact(), DEADLINE_S))


def transact_with_kafkajs(place: Place) -> None:
    steps = [
        {
            "messages": [kafkajs.message_in(Message(value=value)) for value in step.values],
            "offset": step.offset,
            "commit": step.commit,
        }
        for step in STEPS
    ]
    request: dict[str, Any] = {**place._asdict(), "steps": steps}
    *_, last = kafkajs.run("transact", request)
    assert last["fenced"] in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")


CLIENTS: dict[str, tuple[Callable[[Place], None], Client]] = {
    "confluent-kafka": (transact_with_confluent, ConfluentClient()),
    "aiokafka": (transact_with_aiokafka, AioClient()),
    "kafkajs": (transact_with_kafkajs, KafkaJsClient()),
}


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_what_is_committed_counts(broker: BrokerProcess, client: RawClient, name: str) -> None:
    transact, reader = CLIENTS[name]
    bootstrap = f"{broker.host}:{broker.port}"
    topic, source = client.create_topic(), client.create_topic()
    place = Place(bootstrap, topic, source, unique_name("group"), unique_name("tx"))
    transact(place)
    found = reader.consume(bootstrap, topic, len(COMMITTED))
    assert [message.value for message in found] == COMMITTED
    wait_until(lambda: committed_offset(client, place) == OFFSET, what="the offset of the last commit")


def committed_offset(client: RawClient, place: Place) -> int:
    topics = [{"name": place.source, "partition_indexes": [0]}]
    answer = client.call("offset_fetch", 7, group_id=place.group, topics=topics, require_stable=True)
    return int(answer.topics[0].partitions[0].committed_offset)
