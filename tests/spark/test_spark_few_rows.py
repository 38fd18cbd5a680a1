"""Rows that come with the plan, or go with the commit, are those that tasks would have read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.model.batch_builder import NewRecord, build_batch
from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.transaction_client import V2, TransactionClient
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

Read = Callable[..., DataFrame]
KEPT = {"retention.ms": "-1"}
"""Some records are of 1970."""


@contextmanager
def by_tasks(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.penstock.fewRows", "false")
    try:
        yield
    finally:
        spark.conf.unset("spark.penstock.fewRows")


def plan_of(frame: DataFrame) -> list[str]:
    """The classes of the partitions that Spark reads."""
    partitions: Any = frame._jdf.queryExecution().executedPlan().collectLeaves().head().inputPartitions()
    return [partitions.apply(index).getClass().getSimpleName() for index in range(partitions.size())]


@pytest.fixture
def filled(client: RawClient) -> str:
    """Records of all kinds in two partitions, among them some of transactions that ended either way."""
    topic = client.create_topic(partitions=2, configs=KEPT)
    records = [
        NewRecord(None, b"no key"),
        NewRecord(b"k", None, (("h", b"x"), ("h", None)), 5),
        NewRecord(b"", b"", (), 7),
        NewRecord(b"j", b'{"a": 1, "t": "2026-01-02T03:04:05Z"}'),
    ]
    client.produce(topic, bytes(build_batch(records, timestamp=1_700_000_000_123, codec=4)), partition=1)
    for commit in (True, False):
        producer = TransactionClient(client, f"{topic}-{commit}", V2).init()
        producer.send(topic, f"in a transaction that ends with {commit}")
        producer.end(commit=commit)
        producer.wait_for("CompleteCommit" if commit else "CompleteAbort")
    put(client, topic, "last")
    return topic


@pytest.mark.feature("S-01")
@pytest.mark.parametrize(
    "options",
    [
        {"includeHeaders": True},
        {"kafka.isolation.level": "read_uncommitted"},
        {"valueFormat": "json", "badRows": "drop", "valueSchema": "a INT, t TIMESTAMP"},
        {"startingTimestamp": 1_700_000_000_124, "startingOffsetsByTimestampStrategy": "latest"},
        {"minPartitions": 5},
    ],
    ids=lambda options: next(iter(options)),
)
def test_rows_of_a_plan(spark: SparkSession, read: Read, filled: str, options: dict[str, Any]) -> None:
    few = read(subscribe=filled, **options)
    assert set(plan_of(few)) == {"FewRows"}
    found = sorted(map(repr, few.collect()))
    with by_tasks(spark):
        tasks = read(subscribe=filled, **options)
        assert set(plan_of(tasks)) == {"PythonInputPartition"}
        assert sorted(map(repr, tasks.collect())) == found
    assert few.count() == len(found) > 0


@pytest.mark.feature("S-02")
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_rows_of_a_commit(
    spark: SparkSession, broker: BrokerProcess, read: Read, client: RawClient, delivery: str
) -> None:
    frame = spark.createDataFrame(
        [("k1", "a", 1), (None, "b", 2), ("k2", None, 3)], "key STRING, value STRING, number INT"
    ).select(
        "key",
        "value",
        F.timestamp_millis("number").alias("timestamp"),
        F.array(F.struct(F.lit("h").alias("key"), F.lit(b"v").alias("value"))).alias("headers"),
    )
    written = []
    for is_small in (True, False):
        topic = client.create_topic(partitions=3, configs=KEPT)
        writer = frame.write.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
        writer = writer.option("topic", topic).option("delivery", delivery)
        if is_small:
            writer.save()
        else:
            with by_tasks(spark):
                writer.save()
        found = read(subscribe=topic, includeHeaders=True).select("key", "value", "timestamp", "headers", "partition")
        written.append(sorted(map(repr, found.where("key IS NOT NULL").collect())))
        assert found.count() == 3
    assert written[0] == written[1]
    assert len(written[0]) == 2


@pytest.mark.feature("S-02")
def test_a_large_task_beside_small_ones(
    spark: SparkSession, broker: BrokerProcess, read: Read, client: RawClient
) -> None:
    topic = client.create_topic(partitions=2, configs=KEPT)
    rows = spark.range(0, 40_000, 1, 1).selectExpr("CAST(id AS STRING) AS key", "lpad(id, 100, '0') AS value")
    few = spark.range(3).selectExpr("CAST(id AS STRING) AS key", "'few' AS value")
    writer = rows.union(few).write.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
    writer.option("topic", topic).option("delivery", "exactly-once").save()
    found = read(subscribe=topic)
    assert (found.count(), found.where("value = 'few'").count()) == (40_003, 3)
    assert set(plan_of(found.where("partition = 0"))) <= {"FewRows", "PythonInputPartition"}
    assert found.select("value").distinct().count() == 40_001


def test_what_has_to_be_waited_for_is_left_to_tasks(read: Read, client: RawClient, topic: str) -> None:
    producer = TransactionClient(client, f"{topic}-open", V2).init()
    producer.send(topic, "held back")
    ending = f'{{"{topic}": {{"0": 1}}}}'
    waiting = read(subscribe=topic, endingOffsets=ending)
    assert plan_of(waiting) == ["PythonInputPartition"]
    producer.end(commit=True)
    assert [bytes(row.value) for row in waiting.collect()] == [b"held back"]


def companions() -> list[psutil.Process]:
    """Those that run; processes of Spark may end while they are looked at."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # ended, or not yet waited for
            if "penstock_spark.companion" in " ".join(each.cmdline()):
                found.append(each)
    return found


@pytest.mark.feature("X-02")
def test_a_companion_that_dies_is_replaced(
    spark: SparkSession, broker: BrokerProcess, read: Read, client: RawClient, tmp_path: Path
) -> None:
    """The stream that it had fails with its name, and goes on from its checkpoint."""
    source, target = client.create_topic(), client.create_topic()

    def copied() -> list[str]:
        return sorted(bytes(row.value).decode() for row in read(subscribe=target).collect())

    def start() -> Any:
        options = {"kafka.bootstrap.servers": broker.bootstrap}
        rows = spark.readStream.format("penstock").options(**options, subscribe=source, startingOffsets="earliest")
        writer = rows.load().writeStream.format("penstock").options(**options, topic=target)
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()

    query = start()
    put(client, source, "a")
    wait_until(lambda: copied() == ["a"], what="the first row", within_s=60)
    (first,) = companions()
    first.kill()
    wait_until(lambda: not query.isActive, what="the end of the query", within_s=60)
    assert "the Python process of format" in str(query.exception())
    assert read(subscribe=source).count() == 1
    (second,) = companions()
    assert second.pid != first.pid
    query = start()
    put(client, source, "b")
    wait_until(lambda: copied() == ["a", "b"], what="the second row", within_s=60)
    query.stop()
