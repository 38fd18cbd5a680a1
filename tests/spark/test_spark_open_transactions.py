"""Records that an open transaction holds back are waited for and never taken for lost; no session."""

from __future__ import annotations

import threading

import pytest

from penstock.client.cluster import Cluster
from penstock.client.open_transactions import open_transactions
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import DataLost, HeldBack
from penstock_spark.reading.planning.narrowing import narrowed
from penstock_spark.reading.planning.ranges import OffsetRange
from penstock_spark.reading.planning.spans import Span
from penstock_spark.reading.records.range_reader import RangeReader
from tests.spark.test_spark_reading import put
from tests.support.batches import now_ms
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient
from tests.support.waiting import wait_until

READ_ALL, OPEN = 5, 3  # where the log ends, and where the transaction starts


@pytest.fixture
def producer(client: RawClient, topic: str) -> TransactionClient:
    """One that has written behind three records, and before another."""
    put(client, topic, *"abc")
    made = TransactionClient(client, unique_name("held"), V2).init()
    made.send(topic, "open")
    put(client, topic, "d")
    return made


def values(cluster: Cluster, topic: str, end: int, *, patience_s: float = 0.5, tolerant: bool = False) -> list[str]:
    place = TopicPartition(topic, 0)
    reader = RangeReader(cluster, place, 0, end, ["value"], tolerant=tolerant)
    reader.transaction_wait.limit_s = patience_s
    return [bytes(value.as_py()).decode() for batch in reader for value in batch[0]]


@pytest.mark.feature("S-01", "X-02")
@pytest.mark.parametrize("tolerant", [False, True])
def test_the_transaction_is_named(cluster: Cluster, topic: str, producer: TransactionClient, tolerant: bool) -> None:
    with pytest.raises(HeldBack) as caught:
        values(cluster, topic, READ_ALL, tolerant=tolerant)
    told = str(caught.value)
    assert f"{topic}-0: the transaction {producer.transactional_id} (of producer {producer.producer_id}, since " in told
    assert "from offset 3 on" in told
    assert f"penstock transaction abort {producer.transactional_id}" in told
    assert "failOnDataLoss" not in told, "nothing is lost"
    assert values(cluster, topic, OPEN) == [*"abc"]


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_that_ends_in_time(
    cluster: Cluster, topic: str, producer: TransactionClient, commit: bool
) -> None:
    ending = threading.Timer(1.0, lambda: producer.end(commit=commit))
    ending.start()
    found = values(cluster, topic, READ_ALL, patience_s=60)
    ending.join()
    assert found == ([*"abc", "open", "d"] if commit else [*"abc", "d"])


def test_what_is_beyond_the_end_is_another_matter(cluster: Cluster, topic: str, producer: TransactionClient) -> None:
    """With failOnDataLoss=false the end is where the log ends; up to there, nothing is skipped."""
    with pytest.raises(DataLost, match=f"{topic}-0 ends at 5, and offsets up to 99 were asked for"):
        values(cluster, topic, 99)
    with pytest.raises(HeldBack):
        values(cluster, topic, 99, tolerant=True)
    producer.end(commit=True)
    assert values(cluster, topic, 99, patience_s=60, tolerant=True) == [*"abc", "open", "d"]


def test_a_partition_without_open_transactions(cluster: Cluster, topic: str, producer: TransactionClient) -> None:
    (found,) = open_transactions(cluster, TopicPartition(topic, 0))
    assert found.producer_id == producer.producer_id
    assert found.start_offset == OPEN
    producer.end(commit=True)
    producer.wait_for("CompleteCommit")
    assert open_transactions(cluster, TopicPartition(topic, 0)) == []


@pytest.mark.feature("S-01")
def test_a_time_that_only_an_open_transaction_has_is_waited_for(
    cluster: Cluster, client: RawClient, topic: str
) -> None:
    """As without the filter: its range is not taken for empty."""
    place = TopicPartition(topic, 0)
    put(client, topic, *"abc")
    wait_until(lambda: now_ms() > client.fetch_records(topic)[-1].timestamp_ms, what="the next millisecond")
    since = Span(since_ms=now_ms())
    held = TransactionClient(client, unique_name("held"), V2).init()
    held.send(topic, "open")
    (found,) = narrowed(cluster, [OffsetRange(topic, 0, 0, OPEN + 1)], {place: [since]})
    assert (found.first, found.end) == (OPEN, OPEN + 1)
    later = Span(since_ms=now_ms() + 86_400_000)
    assert narrowed(cluster, [OffsetRange(topic, 0, 0, OPEN + 1)], {place: [later]}) == []
    (behind,) = narrowed(cluster, [OffsetRange(topic, 0, 0, 99)], {place: [later]})
    assert (behind.first, behind.end) == (OPEN + 1, 99), "its task says that there are no such offsets"
    held.end(commit=False)
