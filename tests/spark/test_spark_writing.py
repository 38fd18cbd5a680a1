"""Frames into topics, as a user of Spark's Kafka sink expects, and what that sink does not promise."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

Read = Callable[..., DataFrame]
Write = Callable[..., None]


@pytest.fixture
def write(broker: BrokerProcess) -> Write:
    def save(frame: DataFrame, **options: Any) -> None:
        given = {"kafka.bootstrap.servers": broker.bootstrap, **options}
        frame.write.format("penstock").mode("append").options(**given).save()

    return save


@pytest.mark.feature("S-02")
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_every_part_of_a_record(
    spark: SparkSession, write: Write, read: Read, client: RawClient, delivery: str
) -> None:
    topic = client.create_topic(partitions=3)
    moment = datetime.datetime.now(datetime.UTC).replace(microsecond=678000) - datetime.timedelta(hours=1)
    rows = [
        (b"k1", b"v1", [("h", b"x"), ("i", None)], 2, moment),
        (None, b"v2", None, 1, moment),
        (b"k3", None, [], 0, moment),
    ]
    ddl = "key BINARY, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>, "
    ddl += "partition INT, timestamp TIMESTAMP"
    write(spark.createDataFrame(rows, ddl), topic=topic, delivery=delivery)
    found = read(subscribe=topic, includeHeaders=True).orderBy(F.desc("partition")).collect()
    assert [(row.key, row.value, row.partition) for row in found] == [(each[0], each[1], each[3]) for each in rows]
    assert [[tuple(each) for each in row.headers or ()] for row in found] == [[("h", b"x"), ("i", None)], [], []]
    assert {row.timestamp.replace(tzinfo=datetime.UTC) for row in found} == {moment}


def test_keys_land_where_other_clients_put_them(
    spark: SparkSession, write: Write, read: Read, client: RawClient
) -> None:
    """Facts: what kafka-python, librdkafka (murmur2_random) and Java make of these keys among seven partitions."""
    topic = client.create_topic(partitions=7)
    write(spark.range(200).selectExpr("concat('key-', id) AS key", "'v' AS value"), topic=topic)
    partitioner = pytest.importorskip("kafka.partitioner.default")
    for row in read(subscribe=topic, columns="key,partition").collect():
        assert row.partition == (partitioner.murmur2(bytes(row.key)) & 0x7FFFFFFF) % 7


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(spark: SparkSession, write: Write, read: Read, topic: str, codec: str) -> None:
    write(spark.range(5000).selectExpr("CAST(id AS STRING) AS value"), topic=topic, compression=codec)
    found = read(subscribe=topic).selectExpr("CAST(CAST(value AS STRING) AS INT) AS n")
    assert found.agg(F.count("n"), F.sum("n")).collect()[0] == (5000, 5000 * 4999 // 2)


def test_rows_choose_their_topic(spark: SparkSession, write: Write, read: Read, client: RawClient) -> None:
    first, second = client.create_topic(), client.create_topic()
    rows = [(first, "a"), (second, "b"), (first, "c")]
    write(spark.createDataFrame(rows, "topic STRING, value STRING").coalesce(1))
    assert [bytes(row.value) for row in read(subscribe=first).collect()] == [b"a", b"c"]
    assert [bytes(row.value) for row in read(subscribe=second).collect()] == [b"b"]


@pytest.mark.feature("S-02")
def test_typed_columns_as_json(spark: SparkSession, write: Write, read: Read, topic: str) -> None:
    frame = spark.createDataFrame(
        [("ACME", 1.5, None), ("O'N\"x", 2.0, [1, 2])], "symbol STRING, price DOUBLE, lots ARRAY<INT>"
    )
    write(frame, topic=topic, valueFormat="json", keyColumn="symbol")
    found = {bytes(row.key).decode(): json.loads(row.value) for row in read(subscribe=topic).collect()}
    assert found == {
        "ACME": {"symbol": "ACME", "price": 1.5},
        "O'N\"x": {"symbol": "O'N\"x", "price": 2.0, "lots": [1, 2]},
    }
    parsed = read(subscribe=topic).select(F.from_json(F.col("value").cast("string"), frame.schema).alias("v"))
    assert sorted(parsed.select("v.*").collect()) == sorted(frame.collect())


@pytest.mark.feature("S-02", "X-02")
def test_a_batch_write_is_all_or_nothing(spark: SparkSession, write: Write, read: Read, client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    frame = spark.range(0, 20_000, 1, 4).selectExpr("CAST(id AS STRING) AS value", "CAST(id % 2 AS INT) AS partition")
    broken = frame.withColumn("value", F.expr("IF(value = '19999', raise_error('no'), value)"))
    with pytest.raises(Exception, match="no"):
        write(broken, topic=topic, delivery="exactly-once")
    assert read(subscribe=topic).count() == 0
    for inline in (1 << 30, 1000):  # in the message, through a file
        write(frame, topic=topic, delivery="exactly-once", inlineBytes=inline)
    found = read(subscribe=topic).groupBy("value").count().groupBy("count").count().collect()
    assert [tuple(row) for row in found] == [(2, 20_000)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "say where to"),
        ({"topic": "t", "kafka.retrys": 3}, "there is no option kafka.retrys: did you mean kafka.retries"),
        ({"topic": "t", "kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": 500}, "cannot be"),
        ({"topic": "no/such"}, "INVALID_TOPIC_EXCEPTION|no/such"),
    ],
)
def test_a_mistake_is_told(spark: SparkSession, write: Write, options: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        write(spark.range(1).selectExpr("'v' AS value"), **options)


def test_a_record_that_is_too_large_is_told(spark: SparkSession, write: Write, read: Read, topic: str) -> None:
    frame = spark.range(2).selectExpr("IF(id = 1, repeat('x', 3000000), 'small') AS value")
    with pytest.raises(Exception, match="MESSAGE_TOO_LARGE"):
        write(frame, topic=topic, delivery="exactly-once")
    assert read(subscribe=topic).count() == 0


# --- streams ---------------------------------------------------------------------------------------------------------


class Copy:
    """A query from one topic to another, run again and again over one checkpoint."""

    def __init__(self, spark: SparkSession, broker: BrokerProcess, directory: Path) -> None:
        self._spark, self._address, self._directory = spark, broker.bootstrap, directory

    def run(self, source: str, target: str, value: str = "value", tasks: int | None = None, **options: Any) -> None:
        """Everything that is in the source now; `value` is what becomes of it, `tasks` are as many that write."""
        frame = (
            self._spark.readStream.format("penstock")
            .option("kafka.bootstrap.servers", self._address)
            .options(subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=40)
            .load()
            .selectExpr("key", f"{value} AS value")
        )
        frame = frame if tasks is None else frame.repartition(tasks)
        writer = frame.writeStream.format("penstock").option("kafka.bootstrap.servers", self._address)
        writer = writer.option("checkpointLocation", str(self._directory / "checkpoint")).option("topic", target)
        query = writer.options(**options).trigger(availableNow=True).start()
        assert query.awaitTermination(100)

    def forget_last_commit(self) -> None:
        """As if the driver had died between the sink's commit and its own note of it."""
        commits = sorted((self._directory / "checkpoint" / "commits").glob("[0-9]*"), key=lambda each: int(each.name))
        commits[-1].unlink()
        (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)


@pytest.fixture
def copy(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> Copy:
    return Copy(spark, broker, tmp_path)


@pytest.mark.feature("S-02", "X-02")
@pytest.mark.parametrize(
    "options",
    [{}, {"inlineBytes": 100}, {"exactlyOnce": "task"}],
    ids=["one transaction", "staged", "a transaction for each task"],
)
def test_a_batch_that_runs_again_is_written_once(
    copy: Copy, read: Read, client: RawClient, options: dict[str, Any]
) -> None:
    source, target = client.create_topic(partitions=2), client.create_topic(partitions=3)
    expected = [f"{number:03}" for number in range(200)]
    put(client, source, *expected[:100])
    put(client, source, *expected[100:], partition=1)
    copy.run(source, target, **options)
    for _ in range(2):
        copy.forget_last_commit()
        copy.run(source, target, **options)
    assert sorted(bytes(row.value).decode() for row in read(subscribe=target).collect()) == expected
    put(client, source, "more")
    copy.run(source, target, **options)
    assert read(subscribe=target).count() == 201


def test_a_task_that_has_another_output_the_second_time_is_told(copy: Copy, read: Read, client: RawClient) -> None:
    source, target = client.create_topic(), client.create_topic()
    put(client, source, "a", "b")
    copy.run(source, target, exactlyOnce="task")
    copy.forget_last_commit()
    with pytest.raises(Exception, match=r"wrote 2 rows for batch 0 and now has 2 others.*exactlyOnce=batch is for"):
        copy.run(source, target, value="concat(value, 'x')", exactlyOnce="task")
    assert read(subscribe=target).count() == 2


def test_tasks_that_divide_a_batch_in_another_way_are_told(copy: Copy, read: Read, client: RawClient) -> None:
    source, target = client.create_topic(), client.create_topic()
    put(client, source, *"abcdef")
    copy.run(source, target, tasks=1, exactlyOnce="task")
    copy.forget_last_commit()
    with pytest.raises(Exception, match=r"wrote 6 rows for batch 0 and now has \d others"):
        copy.run(source, target, tasks=2, exactlyOnce="task")


def test_a_pattern_for_everything_leaves_out_what_writers_keep_for_themselves(
    copy: Copy, read: Read, client: RawClient
) -> None:
    source, target = client.create_topic(), client.create_topic()
    put(client, source, "a")
    copy.run(source, target)  # with a marker
    pattern = f"({source}|{target}|__penstock.*)"
    assert {row.topic for row in read(subscribePattern=pattern).collect()} == {source, target}
    assert read(subscribe="__penstock_markers").count() > 0


def test_at_least_once_is_what_it_says(copy: Copy, read: Read, client: RawClient) -> None:
    source, target = client.create_topic(), client.create_topic()
    put(client, source, *(str(number) for number in range(30)))
    copy.run(source, target, delivery="at-least-once")
    copy.forget_last_commit()
    copy.run(source, target, delivery="at-least-once")
    assert read(subscribe=target).count() == 60
    assert read(subscribe=target).select("value").distinct().count() == 30


def test_a_new_topic_in_a_stream(copy: Copy, read: Read, client: RawClient) -> None:
    source, target = client.create_topic(), unique_name("made")
    put(client, source, "a")
    copy.run(source, target)
    assert read(subscribe=target).count() == 1


def test_for_each_batch(
    spark: SparkSession, broker: BrokerProcess, write: Write, read: Read, client: RawClient, tmp_path: Path
) -> None:
    """A batch write inside a stream, as people do who write to several places."""
    source, target = client.create_topic(), client.create_topic()
    put(client, source, "a", "b", "c")
    frame = spark.readStream.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
    rows = frame.options(subscribe=source, startingOffsets="earliest").load().select("key", "value")

    def each(batch: DataFrame, _number: int) -> None:
        write(batch, topic=target, delivery="exactly-once")

    writer = rows.writeStream.foreachBatch(each).option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert writer.trigger(availableNow=True).start().awaitTermination(100)
    assert sorted(bytes(row.value).decode() for row in read(subscribe=target).collect()) == ["a", "b", "c"]


@pytest.mark.parametrize(("mode", "told"), [("overwrite", "append"), ("ignore", "[Aa]ppend")])
def test_a_write_that_does_not_append(
    spark: SparkSession, broker: BrokerProcess, topic: str, read: Read, mode: str, told: str
) -> None:
    writer = spark.range(1).selectExpr("'v' AS value").write.format("penstock").option("topic", topic)
    writer = writer.option("kafka.bootstrap.servers", broker.bootstrap)
    with pytest.raises(Exception, match=told):
        writer.mode(mode).save()
    assert read(subscribe=topic).count() == 0
