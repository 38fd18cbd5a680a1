"""Whole batches in transactions: seen together or not at all, once, and never by a producer that was replaced."""

from __future__ import annotations

import pytest

from penstock.client.cluster import Cluster
from penstock.client.fetches import receive_fetch, send_fetch
from penstock.client.left_open import LastEnd, end_left_open, last_end
from penstock.client.open_transactions import open_transactions
from penstock.client.transactions import TransactionalProducer, is_fenced
from penstock.model.batch import iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import KafkaError
from penstock.model.records import batch_records
from penstock.model.topic_partition import TopicPartition
from tests.support.batches import now_ms
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until


def batch(*values: str) -> bytearray:
    return build_batch([NewRecord(None, value.encode()) for value in values], timestamp=now_ms())


def committed(cluster: Cluster, place: TopicPartition) -> list[str]:
    connection = cluster.leader(place)
    fetched = receive_fetch(send_fetch(connection, place, 0, committed=True, max_bytes=1 << 20, min_bytes=0))
    assert fetched.error == 0
    first_aborted = {each.producer_id: each.first_offset for each in fetched.aborted}
    values = []
    for at, header in iter_headers(fetched.records):
        if header.is_control:
            first_aborted.pop(header.producer_id, None)
        elif header.base_offset < first_aborted.get(header.producer_id, 1 << 62):
            records = batch_records(fetched.records, header, at)
            values += [(record.value or b"").decode() for record in records]
    return values


@pytest.mark.feature("K-07")
def test_two_partitions_at_once(cluster: Cluster, client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    producer = TransactionalProducer(cluster, unique_name("tx"))
    producer.init()
    for round_ in range(3):
        producer.send(first, batch(f"a{round_}", f"b{round_}"))
        producer.send(first, batch(f"c{round_}"))
        producer.send(second, batch(f"d{round_}"))
        producer.flush()
        producer.commit()
    wait_until(lambda: len(committed(cluster, second)) == 3, what="the last commit")
    assert committed(cluster, first) == [f"{name}{round_}" for round_ in range(3) for name in "abc"]
    assert committed(cluster, second) == ["d0", "d1", "d2"]


def test_what_is_aborted_is_not_seen(cluster: Cluster, topic: str) -> None:
    place = TopicPartition(topic, 0)
    producer = TransactionalProducer(cluster, unique_name("tx"))
    producer.init()
    producer.send(place, batch("never"))
    producer.abort()
    producer.init()
    producer.send(place, batch("once"))
    producer.commit()
    producer.init()  # waits for the end of the one before
    fetched = receive_fetch(send_fetch(cluster.leader(place), place, 0, committed=True, max_bytes=1 << 20))
    assert fetched.last_stable == 4  # two batches, two markers


def test_the_second_producer_shuts_the_first_out(cluster: Cluster, topic: str) -> None:
    place, name = TopicPartition(topic, 0), unique_name("tx")
    old, new = TransactionalProducer(cluster, name), TransactionalProducer(cluster, name)
    old.init()
    old.send(place, batch("never"))
    new.init()
    with pytest.raises(KafkaError) as refused:
        old.commit()
    assert is_fenced(refused.value)
    new.send(place, batch("seen"))
    new.commit()
    wait_until(lambda: committed(cluster, place)[-1:] == ["seen"], what="the commit")


@pytest.mark.feature("X-02")
@pytest.mark.parametrize("end", [LastEnd.COMMITTED, LastEnd.ABORTED])
def test_what_a_broker_has_left_open_is_ended_before_anything_new_is_written(
    cluster: Cluster, client: RawClient, end: LastEnd
) -> None:
    """As Apache Kafka leaves it in a partition whose leader its coordinator did not know when it started again."""
    topic = client.create_topic(partitions=2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    producer = TransactionalProducer(cluster, unique_name("tx"))
    producer.init()
    producer.send(first, batch("before"))
    producer.flush()
    (before,) = open_transactions(cluster, first)
    end_left_open(cluster, before.producer_id + 1, [first, second], end)  # of another producer
    with pytest.raises(KafkaError, match=f"kafka-transactions.sh abort --topic {topic} --partition 0"):
        end_left_open(cluster, before.producer_id, [first, second], LastEnd.UNKNOWN)
    assert [each.producer_id for each in open_transactions(cluster, first)] == [before.producer_id]
    end_left_open(cluster, before.producer_id, [first, second], end)
    assert open_transactions(cluster, first) == open_transactions(cluster, second) == []
    producer.send(second, batch("seen"))
    producer.commit()
    wait_until(lambda: committed(cluster, second) == ["seen"], what="the commit")
    assert committed(cluster, first) == (["before"] if end is LastEnd.COMMITTED else [])


def test_how_the_last_transaction_of_an_id_has_ended(cluster: Cluster, topic: str) -> None:
    producer = TransactionalProducer(cluster, unique_name("tx"))
    found = [last_end(cluster, producer.transactional_id)]
    producer.init()
    found.append(last_end(cluster, producer.transactional_id))
    for commit in (True, False):
        producer.send(TopicPartition(topic, 0), batch("one"))
        found.append(last_end(cluster, producer.transactional_id))  # of an open one: the next producer aborts it
        producer.commit() if commit else producer.abort()
        found.append(last_end(cluster, producer.transactional_id))
    unknown, committed_, aborted = LastEnd.UNKNOWN, LastEnd.COMMITTED, LastEnd.ABORTED
    assert found == [unknown, unknown, aborted, committed_, aborted, aborted]
