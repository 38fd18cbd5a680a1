"""An idempotent producer: in order, and not twice when the broker goes away in between."""

from __future__ import annotations

import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.idempotent import IdempotentProducer
from penstock.client.topics import ensure_topic, topics_to_write
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name


def batch(value: str) -> bytearray:
    return build_batch([NewRecord(None, value.encode())], timestamp=now_ms())


def test_offsets_are_told_in_order(cluster: Cluster, client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    told: list[tuple[TopicPartition, int]] = []
    producer = IdempotentProducer(cluster, lambda place, offset: told.append((place, offset)))
    places = [TopicPartition(topic, number % 2) for number in range(20)]
    for number, place in enumerate(places):
        producer.send(place, batch(str(number)))
    producer.flush()
    assert told == [(place, number // 2) for number, place in enumerate(places)]


@pytest.mark.feature("X-02")
def test_a_restart_in_between_neither_loses_nor_doubles(own_broker: BrokerProcess) -> None:
    with Cluster([Address(own_broker.host, own_broker.port)], timeout_s=60) as cluster:
        name = unique_name("topic")
        ensure_topic(cluster, name, partitions=1)
        place = TopicPartition(name, 0)
        told: list[int] = []
        producer = IdempotentProducer(cluster, lambda _, offset: told.append(offset))
        for number in range(60):
            producer.send(place, batch(str(number)))
            if number in (20, 40):
                own_broker.kill9()
                own_broker.start()
        producer.flush()
        assert told == list(range(60))


def test_a_topic_that_is_written_to_is_made_if_the_broker_does_so(cluster: Cluster) -> None:
    name = unique_name("written")
    assert topics_to_write(cluster, [name])[name].partition_count >= 1


def test_a_topic_that_cannot_be(cluster: Cluster) -> None:
    with pytest.raises(KafkaError) as refused:
        ensure_topic(cluster, "no/such name")
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
