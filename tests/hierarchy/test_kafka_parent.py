"""A parent that is reached over Kafka's protocol: a Penstock, and Apache Kafka itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support import batches
from tests.support.broker_process import BrokerProcess
from tests.support.hierarchy import HierarchyNode
from tests.support.kafka_process import KafkaProcess
from tests.support.raw_client import RawClient
from tests.support.topic_contents import topic_contents

pytestmark = pytest.mark.feature("P-01", "P-12")


@pytest.fixture(params=["penstock", pytest.param("kafka", marks=pytest.mark.compat)])
def parent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BrokerProcess]:
    directory = tmp_path / "parent"
    directory.mkdir()
    broker: BrokerProcess = KafkaProcess(directory) if request.param == "kafka" else HierarchyNode(directory)
    broker.prepare()
    broker.start()
    yield broker
    broker.kill9()


def test_a_topic_of_a_kafka_broker_is_mirrored(parent: BrokerProcess, tmp_path: Path) -> None:
    with RawClient(parent.host, parent.port) as client:
        topic = client.create_topic("prices", partitions=2, configs={"retention.ms": "777777777"})
        topic_id = client.topic_id(topic)
        for number in range(10):
            client.appended(topic, batches.values(b"%d" % number), partition=number % 2)
    child = HierarchyNode(tmp_path / "child", parent.bootstrap, pipe="  type: kafka\n")
    try:
        child.begin()
        child.wait_for_ends(topic, [5, 5])
        commit_and_abort(parent.bootstrap, topic)
        ends = [9, 5]  # two records and two markers; a marker may come after its transaction's answer
        child.wait_for_ends(topic, ends)
        assert topic_contents(child.bootstrap, topic) == topic_contents(parent.bootstrap, topic)
        (listed,) = child.get("/pipe/topics")["topics"]
        assert (listed["id"], listed["configs"]["retention.ms"]) == (str(topic_id), "777777777")
        child.kill9()
        with RawClient(parent.host, parent.port) as client:
            client.appended(topic, batches.values(b"meanwhile"))
        child.start()
        child.wait_for_ends(topic, [ends[0] + 1, ends[1]])
        assert topic_contents(child.bootstrap, topic) == topic_contents(parent.bootstrap, topic)
        with RawClient(parent.host, parent.port) as client:
            client.delete_topic(topic)
            client.create_topic(topic, partitions=2)
        assert "another one" in child.wait_for_state(topic, "DIVERGED")["reason"]
    finally:
        child.kill9()


def commit_and_abort(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t", "enable.metrics.push": False})
    producer.init_transactions(30)
    for ends in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce(topic, b"in a transaction", partition=0)
        producer.flush(10)
        ends(20)
