"""One log, two doors: what is published here Kafka clients read, and the other way round."""

from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from penstock import BrokerClient
from tests.push_client.test_broker_client import Inbox
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("Q-04", "Q-07")

Record = tuple[bytes | None, bytes | None, list[Any]]


def read_with_kafka(node: PenstockProcess, topic: str, count: int) -> list[Record]:
    consumer = Consumer(
        {"bootstrap.servers": node.bootstrap, "group.id": f"reader-of-{topic}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[Record] = []
    while len(found) < count:
        message = consumer.poll(15)
        assert message is not None, f"only {len(found)} of {count}"
        assert message.error() is None
        found.append((message.key(), message.value(), list(message.headers() or [])))
    consumer.close()
    return found


def test_published_by_push_read_by_kafka(node: PenstockProcess, client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    client.publish(name, "text", key="AAPL", properties={"source": "test", "percent": "100 % = 1", "none": None})
    client.publish(name, b"\x00\xff", key=b"\xfe", properties=[("twice", b"\x00\x01"), ("twice", b"=%3D"), ("ü", "ü")])
    client.publish(name, None, key="gone")
    client.publish(name, b"")
    assert read_with_kafka(node, name, 4) == [
        (b"AAPL", b"text", [("source", b"test"), ("percent", b"100 % = 1"), ("none", None)]),
        (b"\xfe", b"\x00\xff", [("twice", b"\x00\x01"), ("twice", b"=%3D"), ("ü", "ü".encode())]),
        (b"gone", None, []),
        (None, b"", []),
    ]


def test_produced_by_kafka_pushed_to_a_client(node: PenstockProcess, client: BrokerClient, name: str) -> None:
    client.create_topic(name)
    producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 50, "compression.type": "lz4"})
    producer.produce(name, b"text", b"AAPL", headers=[("source", b"kafka"), ("=%", b"\xff\0=%")], timestamp=1234567)
    producer.produce(name, None, b"gone")
    producer.produce(name, b"\x00", None, headers=[("none", None)])
    assert producer.flush(15) == 0
    inbox = Inbox()
    client.subscribe(name, inbox)
    inbox.wait_for(3)
    first, tombstone, last = inbox
    assert (first.key, first.body, first.timestamp, first.sequence_number) == (b"AAPL", b"text", 1234567, 0)
    assert first.headers == ((b"source", b"kafka"), (b"=%", b"\xff\0=%"))
    assert first.properties == {"source": "kafka", "=%": "\udcff\0=%"}
    assert (tombstone.key, tombstone.body, tombstone.headers) == (b"gone", None, ())
    assert (last.key, last.body, last.properties) == (None, b"\x00", {"none": None})


def test_a_key_has_the_same_partition_through_both_doors(
    node: PenstockProcess, client: BrokerClient, name: str
) -> None:
    client.create_topic(name, partitions=5)
    keys = [f"key-{number}" for number in range(40)]
    here = {key: client.publish(name, "push", key=key).partition for key in keys}
    there: dict[str, int] = {}

    def delivered(_: Any, message: Any) -> None:
        there[message.key().decode()] = message.partition()

    producer = Producer({"bootstrap.servers": node.bootstrap, "partitioner": "murmur2_random"})
    for key in keys:
        producer.produce(name, b"kafka", key, on_delivery=delivered)
    assert producer.flush(15) == 0
    assert here == there


def _committed(admin: AdminClient, group: str, topic: str) -> int:
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    (found,) = admin.list_consumer_group_offsets([asked])[group].result().topic_partitions
    return int(found.offset)


def test_a_subscription_is_a_group_to_kafka(node: PenstockProcess, client: BrokerClient, name: str) -> None:
    """Its position moves with the acknowledgements, and a Kafka member cannot join it."""
    client.create_topic(name)
    inbox = Inbox()
    client.subscribe(name, inbox, "of-" + name)
    for number in range(3):
        client.publish_text(name, str(number))
    inbox.wait_for(3)
    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    wait_until(lambda: _committed(admin, "of-" + name, name) == 3, what="the position")
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "of-" + name})
    consumer.subscribe([name])
    message = consumer.poll(15)
    assert message is not None
    error = message.error()
    assert error is not None
    assert error.name() == "INCONSISTENT_GROUP_PROTOCOL"
    consumer.close()
