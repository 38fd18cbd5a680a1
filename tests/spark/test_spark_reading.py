"""`format("penstock")` as users of Spark's Kafka source expect it, with nothing registered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.model.batch_builder import NewRecord, build_batch
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

Read = Callable[..., DataFrame]
SOURCE_OF_KAFKA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
)


def put(client: RawClient, topic: str, *values: str, partition: int = 0, at: int | None = None, codec: int = 0) -> None:
    records = [NewRecord(b"k" + value.encode(), value.encode(), (("h", b"x"),)) for value in values]
    batch = build_batch(records, timestamp=at or now_ms(), codec=codec)
    assert client.produce(topic, bytes(batch), partition=partition).error_code == 0


def values(frame: DataFrame) -> list[str]:
    return [row.value.decode() for row in frame.select("value", "offset").orderBy("offset").collect()]


@pytest.mark.feature("S-01")
def test_the_columns_are_those_of_sparks_source(read: Read, topic: str, client: RawClient) -> None:
    before = now_ms()
    put(client, topic, "a")
    after = now_ms()
    assert read(subscribe=topic).schema == StructType.fromDDL(SOURCE_OF_KAFKA)
    row = read(subscribe=topic, includeHeaders=True).collect()[0]
    assert (row.key, row.value, row.topic, row.partition, row.offset) == (b"ka", b"a", topic, 0, 0)
    assert [(each.key, each.value) for each in row.headers] == [("h", b"x")]
    assert row.timestampType == 0
    assert before <= round(row.timestamp.timestamp() * 1000) <= after


@pytest.mark.parametrize("codec", range(5), ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(read: Read, topic: str, client: RawClient, codec: int) -> None:
    expected = [f"value {number}" for number in range(200)]
    put(client, topic, *expected, codec=codec)
    assert values(read(subscribe=topic)) == expected


def test_a_query_sees_what_was_acknowledged_before_it_ran(read: Read, topic: str, client: RawClient) -> None:
    """Spark plans a DataFrame once; its end is open."""
    put(client, topic, "a")
    frame = read(subscribe=topic)
    assert frame.count() == 1
    put(client, topic, "b", "c")
    assert frame.count() == 3


def test_ranges_by_offset_and_by_time(read: Read, client: RawClient) -> None:
    topic, now = client.create_topic(partitions=2), now_ms()
    for index in range(10):
        put(client, topic, f"a{index}", at=now + 1000 * index)
        put(client, topic, f"b{index}", partition=1, at=now + 1000 * index)
    start, end = f'{{"{topic}": {{"0": 2, "1": -2}}}}', f'{{"{topic}": {{"0": 4, "1": -1}}}}'
    found = read(subscribe=topic, startingOffsets=start, endingOffsets=end)
    assert sorted(values(found)) == ["a2", "a3", *(f"b{index}" for index in range(10))]
    found = read(subscribe=topic, startingTimestamp=now + 3000, endingTimestamp=now + 5000)
    assert sorted(values(found)) == ["a3", "a4", "b3", "b4"]


def test_patterns_and_assignments(read: Read, client: RawClient) -> None:
    prefix = unique_name("pattern")
    for name in ("one", "two", "other"):
        put(client, client.create_topic(f"{prefix}-{name}", partitions=2), name, partition=1)
    assert sorted(values(read(subscribePattern=f"{prefix}-(one|two)"))) == ["one", "two"]
    assert values(read(assign=f'{{"{prefix}-two": [1]}}')) == ["two"]
    assert values(read(assign=f'{{"{prefix}-two": [0]}}')) == []


def test_partitions_are_split(read: Read, topic: str, client: RawClient) -> None:
    put(client, topic, *(str(number) for number in range(100)))
    assert read(subscribe=topic).rdd.getNumPartitions() == 1
    frame = read(subscribe=topic, minPartitions=4)
    assert frame.rdd.getNumPartitions() == 4
    assert frame.distinct().count() == 100
    assert read(subscribe=topic, maxRecordsPerPartition=30).rdd.getNumPartitions() == 4


@pytest.mark.feature("S-01", "X-02")
def test_only_committed_records_unless_asked(read: Read, topic: str, client: RawClient) -> None:
    for name, commit in (("kept", True), ("dropped", False)):
        producer = TransactionClient(client, unique_name("tx"), V2).init()
        producer.send(topic, name)
        producer.end(commit=commit)
        producer.wait_for("CompleteCommit" if commit else "CompleteAbort")
    assert values(read(subscribe=topic)) == ["kept"]
    everything = read(**{"subscribe": topic, "kafka.isolation.level": "read_uncommitted"})
    assert sorted(values(everything)) == ["dropped", "kept"]


def test_columns_leave_out_what_a_query_does_not_need(read: Read, topic: str, client: RawClient) -> None:
    put(client, topic, "a", "b")
    assert read(subscribe=topic, columns="offset").columns == ["offset"]
    assert [tuple(row) for row in read(subscribe=topic, columns="value,offset").collect()] == [(b"a", 0), (b"b", 1)]


@pytest.mark.feature("X-04")
def test_a_topic_in_sql(spark: SparkSession, broker: BrokerProcess, topic: str, client: RawClient) -> None:
    put(client, topic, "a", "b")
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW prices USING penstock OPTIONS "
        f"(`kafka.bootstrap.servers` '{broker.host}:{broker.port}', subscribe '{topic}')"
    )
    counted = "SELECT count(*) AS n FROM prices WHERE offset >= 1"
    assert spark.sql(counted).collect()[0].n == 1
    put(client, topic, "c")
    assert spark.sql(counted).collect()[0].n == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subscribe": "no-such-topic"}, "there is no topic no-such-topic"),
        ({"subscrbe": "a"}, "there is no option subscrbe: did you mean subscribe"),
        (
            {"subscribe": "a", "kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": 500},
            "cannot be",
        ),
    ],
)
def test_a_mistake_is_told(read: Read, options: dict[str, object], message: str) -> None:
    with pytest.raises(Exception, match=message):
        read(**options).count()


def test_records_that_are_gone(read: Read, topic: str, client: RawClient) -> None:
    put(client, topic, "a", "b", "c")
    topics = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}]
    client.call("delete_records", 2, topics=topics, timeout=5000)
    assert values(read(subscribe=topic)) == ["c"]
    start = f'{{"{topic}": {{"0": 0}}}}'
    with pytest.raises(Exception, match="records from 0 on are gone"):
        read(subscribe=topic, startingOffsets=start).count()
    assert values(read(subscribe=topic, startingOffsets=start, failOnDataLoss=False)) == ["c"]


@pytest.mark.parametrize(
    ("edges", "told"),
    [
        ({"endingOffsets": 9}, "ends at 3, and offsets up to 9 were asked for"),
        ({"startingOffsets": 9, "endingOffsets": 12}, "is shorter than 9"),
        ({"startingOffsets": 3, "endingOffsets": 1}, "the start 3 is behind the end 1"),
    ],
)
def test_offsets_beyond_the_end(read: Read, topic: str, client: RawClient, edges: dict[str, int], told: str) -> None:
    put(client, topic, "a", "b", "c")
    given = {name: f'{{"{topic}": {{"0": {offset}}}}}' for name, offset in edges.items()}
    with pytest.raises(Exception, match=told):
        read(subscribe=topic, **given).count()


# --- streams ---------------------------------------------------------------------------------------------------------


class Stream:
    """A query from a topic into files, run again and again over one checkpoint."""

    def __init__(self, spark: SparkSession, broker: BrokerProcess, directory: Path) -> None:
        self._spark, self._address, self._directory = spark, f"{broker.host}:{broker.port}", directory

    def run(self, source: str = "penstock", **options: Any) -> list[int]:
        """Everything there is now; how many rows each batch had."""
        given = {"kafka.bootstrap.servers": self._address, "startingOffsets": "earliest", **options}
        frame = self._spark.readStream.format(source).options(**given).load().select("value", "offset", "partition")
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self._directory / "checkpoint"))
        query = writer.option("path", str(self._directory / "out")).trigger(availableNow=True).start()
        assert query.awaitTermination(100)
        return [each["numInputRows"] for each in query.recentProgress if each["numInputRows"]]

    def rows(self) -> list[str]:
        frame = self._spark.read.parquet(str(self._directory / "out"))
        return sorted(row.value.decode() for row in frame.collect())


@pytest.fixture
def stream(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> Stream:
    return Stream(spark, broker, tmp_path)


@pytest.mark.feature("S-01")
def test_a_stream_goes_on_where_it_was(stream: Stream, client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    expected = [f"{number:03}" for number in range(30)]
    put(client, topic, *expected[:10])
    put(client, topic, *expected[10:20], partition=1)
    assert stream.run(subscribe=topic, maxOffsetsPerTrigger=8) == [8, 8, 4]
    assert stream.rows() == expected[:20]
    put(client, topic, *expected[20:])
    assert stream.run(subscribe=topic, minPartitions=3) == [10]
    assert stream.rows() == expected


def test_partitions_that_come_later_are_read_from_their_start(stream: Stream, topic: str, client: RawClient) -> None:
    put(client, topic, "a")
    assert stream.run(subscribe=topic) == [1]
    grown = [{"name": topic, "count": 2, "assignments": None}]
    client.call("create_partitions", 3, topics=grown, timeout=5000, validate_only=False)
    client.wait_for_topic(topic, 2)
    put(client, topic, "b", partition=1)
    assert stream.run(subscribe=topic) == [1]
    assert stream.rows() == ["a", "b"]


@pytest.mark.feature("S-06")
def test_progress_is_that_of_a_consumer_group(stream: Stream, topic: str, client: RawClient) -> None:
    group = unique_name("pipeline")
    put(client, topic, "a", "b", "c")
    options = {"subscribe": topic, "kafka.group.id": group}
    stream.run(**options)
    asked = [{"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]}]
    answer = client.call("offset_fetch", 8, groups=asked, require_stable=True)
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 3


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("later", [["c"], ["c", "d"], ["c", "d", "e"]], ids=["shorter", "as long", "longer"])
def test_a_topic_that_was_made_anew(stream: Stream, client: RawClient, later: list[str], fails: bool) -> None:
    """By its id: where the old one ended means nothing in the new one."""
    topic = client.create_topic()
    put(client, topic, "a", "b")
    stream.run(subscribe=topic)
    client.delete_topic(topic)
    client.create_topic(topic)
    put(client, topic, *later)
    if fails:
        with pytest.raises(Exception, match=f"{topic} was deleted and created again. With failOnDataLoss=false"):
            stream.run(subscribe=topic)
    else:
        stream.run(subscribe=topic, failOnDataLoss=False)
        assert stream.rows() == ["a", "b", *later]


def test_a_stream_that_starts_beyond_the_end(stream: Stream, topic: str, client: RawClient) -> None:
    put(client, topic, "a")
    with pytest.raises(Exception, match="ends at 1 and was read up to 9"):
        stream.run(subscribe=topic, startingOffsets=f'{{"{topic}": {{"0": 9}}}}')
