"""Filters on partition, offset and time choose what is fetched, and never change what a query gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.model.batch_builder import NewRecord, build_batch
from tests.spark.test_spark_views import grow
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

Read = Callable[..., DataFrame]
START = 1_750_000_000_000
PARTITIONS = 3
KEPT = {"retention.ms": "-1"}
"""For times that tests can name."""


@pytest.fixture(scope="module")
def mixed(broker: BrokerProcess) -> str:
    """A topic of many small batches whose times are in no order."""
    random_ = random.Random(7)
    with RawClient(broker.host, broker.port) as client:
        topic = client.create_topic(unique_name("mixed"), partitions=PARTITIONS, configs=KEPT)
        for number in range(45):
            records = [
                NewRecord(b"k%d" % index, b"v%d-%d" % (number, index), (), START + 1000 * number + _late(random_))
                for index in range(10)
            ]
            codec = number % 5
            batch = bytes(build_batch(records, timestamp=records[0].timestamp or 0, codec=codec))
            assert client.produce(topic, batch, partition=number % PARTITIONS).error_code == 0
    return topic


def _late(random_: random.Random) -> int:
    return random_.choice([0, 1, 500, -7_000, -30_000, 9_000])


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((row.partition, row.offset) for row in frame.select("partition", "offset").collect())


def at(milliseconds: float) -> str:
    return f"timestamp_micros({int((START + milliseconds) * 1000)})"


FILTERS = [
    "partition = 1",
    "partition IN (0, 2) AND offset >= 30",
    "offset BETWEEN 20 AND 30",
    "offset IN (3, 77, 140, 5000)",
    "offset = 5 OR (partition = 2 AND offset > 140)",
    "NOT (offset < 140)",
    "offset <> 0 AND offset < 3",
    "offset < 0",
    "offset >= 100000",
    "partition = 99",
    "topic = 'elsewhere'",
    f"timestamp >= {at(40_000)}",
    f"timestamp > {at(40_000)} AND partition = 0",
    f"timestamp < {at(-20_000)}",
    f"timestamp <= {at(2_000)}",
    f"timestamp BETWEEN {at(20_000)} AND {at(20_500)}",
    f"timestamp = {at(20_001)}",
    f"timestamp = {at(20_000.5)}",
    f"timestamp >= {at(44_000)} OR offset < 2",
    f"timestamp < {at(-20_000)} OR timestamp > {at(50_000)}",
    f"(timestamp < {at(0)} OR value = 'v30-3') AND offset > 10",
    "offset > 10 AND CAST(value AS STRING) LIKE 'v3%'",
    "offset % 7 = 0",
    "timestamp IS NULL",
    "offset IS NOT NULL AND partition <=> 2",
]


@pytest.mark.feature("S-01")
@pytest.mark.parametrize("condition", FILTERS)
def test_a_filter_gives_what_it_gives_without(read: Read, mixed: str, condition: str) -> None:
    """Beside the same filter over rows that are kept in memory."""
    frame = read(subscribe=mixed)
    everything = frame.sparkSession.createDataFrame(frame.collect(), frame.schema)
    assert rows(frame.where(condition)) == rows(everything.where(condition))


@pytest.mark.feature("S-01")
def test_random_filters(read: Read, mixed: str) -> None:
    random_ = random.Random(3)
    frame = read(subscribe=mixed)
    everything = frame.sparkSession.createDataFrame(frame.collect(), frame.schema).cache()

    def leaf() -> str:
        sign = random_.choice(["=", "<", "<=", ">", ">=", "<>"])
        return random_.choice(
            [
                f"offset {sign} {random_.randrange(-1, 160)}",
                f"partition {sign} {random_.randrange(4)}",
                f"timestamp {sign} {at(random_.randrange(-30_000, 55_000))}",
                f"length(value) {sign} {random_.randrange(3, 7)}",
            ]
        )

    for _ in range(12):
        condition = f"({leaf()} {random_.choice(['AND', 'OR'])} {leaf()}) {random_.choice(['AND', 'OR'])} NOT {leaf()}"
        assert rows(frame.where(condition)) == rows(everything.where(condition)), condition


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def tasks(frame: DataFrame) -> int:
    return frame.rdd.getNumPartitions()


def test_what_is_pushed_shows_and_what_is_not_needed_has_no_task(read: Read, mixed: str) -> None:
    frame = read(subscribe=mixed)
    narrow = frame.where("partition = 1 AND offset BETWEEN 7 AND 17").select("offset")
    shown = plan(narrow)
    assert f"penstock[Subscribe[{mixed}]] columns [partition, offset]" in shown
    assert "EqualTo(partition,1), GreaterThanOrEqual(offset,7), LessThanOrEqual(offset,17)" in shown
    assert tasks(narrow) == 1
    assert tasks(frame) == PARTITIONS
    assert "pushed filters []" in plan(frame.where("length(value) > 3"))


def test_filters_of_one_frame_do_not_meet(read: Read, mixed: str) -> None:
    """Spark's own class for Python sources keeps the filter of the first query in the next."""
    frame = read(subscribe=mixed)
    assert len(rows(frame.where("offset < 5"))) == 5 * PARTITIONS
    assert len(rows(frame.where("offset >= 145"))) == 5 * PARTITIONS
    assert frame.count() == 450
    assert len(rows(frame.where("offset < 5"))) == 5 * PARTITIONS
    some = frame.where("offset < 5 AND partition = 0").alias("a")
    other = frame.where("offset >= 3 AND partition = 0").alias("b")
    assert [row.offset for row in some.join(other, "offset").select("offset").orderBy("offset").collect()] == [3, 4]
    both = some.unionByName(other.where("offset < 10"))
    assert both.count() == 5 + 7


def test_a_view_that_is_used_twice(spark: SparkSession, read: Read, mixed: str) -> None:
    read(subscribe=mixed).createOrReplaceTempView("mixed")
    told = spark.sql(
        "SELECT (SELECT count(*) FROM mixed WHERE offset < 5), (SELECT count(*) FROM mixed WHERE offset >= 140),"
        " (SELECT count(*) FROM mixed)"
    ).collect()
    assert tuple(told[0]) == (5 * PARTITIONS, 10 * PARTITIONS, 450)


def test_a_cached_frame_has_all_its_rows(read: Read, mixed: str) -> None:
    frame = read(subscribe=mixed).cache()
    try:
        assert frame.where("offset < 5").count() == 5 * PARTITIONS
        assert frame.count() == 450
        assert frame.where("offset >= 5").count() == 450 - 5 * PARTITIONS
    finally:
        frame.unpersist()


def test_filters_and_options_together(read: Read, mixed: str) -> None:
    first = ", ".join(f'"{number}": 20' for number in range(PARTITIONS))
    frame = read(subscribe=mixed, startingOffsets=f'{{"{mixed}": {{{first}}}}}', minPartitions=12)
    assert len(rows(frame.where("offset < 25"))) == 5 * PARTITIONS
    assert len(rows(frame.where("offset < 10"))) == 0
    assert len(rows(frame.where("offset >= 50"))) == 100 * PARTITIONS


def test_rows_and_partitions_that_come_after_planning(read: Read, client: RawClient) -> None:
    topic = client.create_topic(configs=KEPT)

    def put(value: bytes, partition: int = 0) -> None:
        client.produce(topic, bytes(build_batch([NewRecord(None, value)], timestamp=START)), partition=partition)

    put(b"a")
    late = read(subscribe=topic).where("offset >= 1")
    none = read(subscribe=topic).where("partition = 1")
    assert rows(late) == rows(none) == []
    planned, planned_none = late.select("offset"), none.select("offset")
    assert planned.collect() == planned_none.collect() == []
    put(b"b")
    grow(client, topic, 2)
    put(b"c", 1)
    put(b"d", 1)
    assert planned.collect() == planned_none.collect() == [], "the same query, which was planned before"
    assert [row.offset for row in late.select("offset").collect()] == [1, 1]
    assert [row.offset for row in none.select("offset").collect()] == [0, 1]


def test_the_latest_of_each_key_is_that_of_all_records(read: Read, client: RawClient) -> None:
    topic = client.create_topic(configs=KEPT)
    records = [NewRecord(b"a", b"1"), NewRecord(b"b", b"2"), NewRecord(b"a", b"3")]
    client.produce(topic, bytes(build_batch(records, timestamp=START)))
    frame = read(subscribe=topic, mode="upsert")
    assert [row.offset for row in frame.where("offset < 2").select("offset").collect()] == [1]
    assert sorted(row.offset for row in frame.select("offset").collect()) == [1, 2]
    assert frame.count() == 2


def test_tables_have_underscores(read: Read, client: RawClient) -> None:
    topic = client.create_topic(partitions=2, configs=KEPT)
    for partition in range(2):
        records = [NewRecord(b"k", b'{"offset": %d}' % (100 - number)) for number in range(10)]
        client.produce(topic, bytes(build_batch(records, timestamp=START)), partition=partition)
    frame = read(subscribe=topic, valueFormat="json", valueSchema="offset BIGINT")
    found = frame.where("_partition = 1 AND _offset IN (3, 4)").select("offset", "_offset")
    assert sorted(tuple(row) for row in found.collect()) == [(96, 4), (97, 3)]
    assert "In(_offset" in plan(found)
    by_value = frame.where("offset = 95")  # a field of the value, whatever its name is
    assert by_value.count() == 2
    assert "pushed filters []" in plan(by_value)
