"""Spark plans a DataFrame or a view once. What the topic is when a query runs is seen all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.test_spark_reading import put, values
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

Read = Callable[..., DataFrame]


def grow(client: RawClient, topic: str, count: int) -> None:
    wanted = [{"name": topic, "count": count, "assignments": None}]
    client.call("create_partitions", 3, topics=wanted, timeout=5000, validate_only=False)
    client.wait_for_topic(topic, count)


@pytest.mark.feature("X-04")
@pytest.mark.parametrize("options", [{}, {"minPartitions": 3}], ids=["whole", "cut"])
def test_what_ages_out_later_was_not_asked_for(read: Read, client: RawClient, options: dict[str, int]) -> None:
    """Unless an offset says so, the start is whatever is earliest when the query runs."""
    topic = client.create_topic()
    put(client, topic, *"abcdefg")
    frame, from_b = read(subscribe=topic, **options), f'{{"{topic}": {{"0": 1}}}}'
    named = read(subscribe=topic, startingOffsets=from_b)
    assert (frame.count(), named.count()) == (7, 6)
    client.delete_records(topic, 5)
    assert values(frame) == ["f", "g"]
    with pytest.raises(Exception, match="records from 1 on are gone"):
        named.count()


@pytest.mark.feature("X-04")
def test_partitions_and_topics_that_come_later_are_read(read: Read, client: RawClient) -> None:
    prefix = unique_name("grows")
    by_name, by_pattern = f"{prefix}-a", read(subscribePattern=prefix)
    assert by_pattern.count() == 0
    put(client, client.create_topic(by_name), "a")
    frame, assigned = read(subscribe=by_name, minPartitions=2), read(assign=f'{{"{by_name}": [0]}}')
    grow(client, by_name, 3)
    put(client, by_name, "b", partition=2)
    put(client, client.create_topic(f"{prefix}-b"), "c")
    assert sorted(values(frame)) == ["a", "b"]
    assert sorted(values(by_pattern)) == ["a", "b", "c"]
    assert values(assigned) == ["a"]
    put(client, by_name, "d", partition=1)
    assert sorted(values(frame)) == ["a", "b", "d"]


def test_a_topic_that_was_made_anew(spark: SparkSession, read: Read, client: RawClient) -> None:
    topic = client.create_topic()
    spark.conf.set("spark.penstock.fewRows", "false")  # else the rows are in the plan
    put(client, topic, *"abcde")
    client.delete_records(topic, 3)
    frame, tolerant = read(subscribe=topic), read(subscribe=topic, failOnDataLoss=False)
    planned, planned_tolerantly = frame.rdd, tolerant.rdd  # each is planned once, and read at each count
    assert (planned.count(), planned_tolerantly.count()) == (2, 2)
    client.delete_topic(topic)
    client.create_topic(topic)
    put(client, topic, "x")
    with pytest.raises(Exception, match=r"is shorter than 3: its topic was created again"):
        planned.count()
    assert planned_tolerantly.count() == 0
    spark.conf.unset("spark.penstock.fewRows")
    assert values(frame) == values(read(subscribe=topic)) == ["x"]  # a new query is planned anew


def test_a_start_beyond_the_end(read: Read, topic: str, client: RawClient) -> None:
    """It is a mistake, unless what is there has only not been committed yet."""
    put(client, topic, "a", "b")
    with pytest.raises(Exception, match=f"{topic}-0: the start 9 is behind the end 2"):
        read(subscribe=topic, startingOffsets=f'{{"{topic}": {{"0": 9}}}}').count()
    producer = TransactionClient(client, unique_name("tx"), V2).init()
    producer.send(topic, "c")
    producer.send(topic, "d")
    frame = read(subscribe=topic, startingOffsets=f'{{"{topic}": {{"0": 3}}}}')
    assert frame.count() == 0
    producer.end(commit=True)
    producer.wait_for("CompleteCommit")
    assert values(frame) == ["d"]
