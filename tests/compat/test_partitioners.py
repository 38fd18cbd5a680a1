"""Partitioners of the clients: keys hash alike where they should, round-robin spreads, custom ones decide."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from tests.compat.clients import kafkajs
from tests.compat.clients.message import Message
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("K-01", "K-02")

PARTITIONS = 5
KEYS = [b"key %d" % number for number in range(40)]


def placed(client: RawClient, topic: str) -> dict[bytes | None, int]:
    """The partition of each key."""
    return {
        record.key: partition
        for partition in range(PARTITIONS)
        if client.log_end(topic, partition)
        for record in client.fetch_records(topic, partition=partition)
    }


def keyed_with_confluent(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random"})
    for key in KEYS:
        producer.produce(topic, b"v", key)
    assert producer.flush(30) == 0


def keyed_with_kafka_python(bootstrap: str, topic: str) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for key in KEYS:
        producer.send(topic, b"v", key)
    producer.close()


def keyed_with_aiokafka(bootstrap: str, topic: str) -> None:
    from aiokafka import AIOKafkaProducer

    async def produce() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for key in KEYS:
                await producer.send(topic, b"v", key)

    asyncio.run(produce())


def keyed_with_kafkajs(bootstrap: str, topic: str) -> None:
    messages = [{**kafkajs.message_in(Message(key=key, value=b"v")), "partition": None} for key in KEYS]
    request = {"bootstrap": bootstrap, "topic": topic, "codec": "none", "acks": -1}
    kafkajs.run("produce", {**request, "messages": messages})


@pytest.mark.parametrize(
    "produce",
    [keyed_with_confluent, keyed_with_kafka_python, keyed_with_aiokafka, keyed_with_kafkajs],
    ids=["confluent-kafka", "kafka-python", "aiokafka", "kafkajs"],
)
def test_keys_hash_as_in_java(broker: BrokerProcess, client: RawClient, produce: Callable[[str, str], None]) -> None:
    """Every client that hashes as Java does puts a key where Java would."""
    topic = client.create_topic(partitions=PARTITIONS)
    produce(broker.bootstrap, topic)
    assert placed(client, topic) == {key: java_partition(key) for key in KEYS}


def java_partition(key: bytes) -> int:
    """murmur2 as in Kafka's DefaultPartitioner."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    result = 0x9747B28C ^ len(key)
    for position in range(0, len(key) - 3, 4):
        word = int.from_bytes(key[position : position + 4], "little") * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        result = (result * multiplier & mask) ^ word
    rest = key[len(key) & ~3 :]
    if rest:
        result = (result ^ int.from_bytes(rest, "little")) * multiplier & mask
    result = (result ^ result >> 13) * multiplier & mask
    result ^= result >> 15
    return int((result & 0x7FFFFFFF) % PARTITIONS)


def test_without_keys_the_partitions_are_used_evenly(broker: BrokerProcess, client: RawClient) -> None:
    """Messages without keys, each sent alone, spread over all partitions."""
    topic = client.create_topic(partitions=PARTITIONS)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "sticky.partitioning.linger.ms": 0})
    for _ in range(200):
        producer.produce(topic, b"v")
    assert producer.flush(30) == 0
    counts = Counter({partition: client.log_end(topic, partition) for partition in range(PARTITIONS)})
    assert sum(counts.values()) == 200
    assert min(counts.values()) > 0


def test_a_custom_partitioner(broker: BrokerProcess, client: RawClient) -> None:
    """A client's own partitioner decides."""
    from aiokafka import AIOKafkaProducer

    topic = client.create_topic(partitions=PARTITIONS)

    def by_last_digit(key: bytes, partitions: list[int], _: list[int]) -> int:
        return partitions[int(key[-1:]) % PARTITIONS]

    async def produce() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap, partitioner=by_last_digit) as producer:
            for key in KEYS:
                await producer.send(topic, b"v", key)

    asyncio.run(produce())
    assert placed(client, topic) == {key: int(key[-1:]) % PARTITIONS for key in KEYS}


def test_batching_gathers_messages(broker: BrokerProcess, client: RawClient, topic: str) -> None:
    """With `linger.ms` a producer sends many messages as one batch, and the broker keeps it as one."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 500, "batch.num.messages": 1000})
    for number in range(1_000):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(30) == 0
    found = client.fetch_batches(topic)
    assert len(found) < 20
    assert sum(batch.count for batch in found) == 1_000
