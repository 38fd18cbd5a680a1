"""Streaming queries that stay: triggers, small batches that wait, topics that come and go, brokers that go and come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.streaming.query import StreamingQuery

from penstock_spark.reading.options import parse_read
from penstock_spark.reading.stream_reader import ASK_EVERY_S, StreamReader
from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

WITHIN_S = 60


class Live:
    """A query into files, over one checkpoint."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark, self._checkpoint, self._files = spark, directory / "checkpoint", directory / "files"
        self.query: StreamingQuery | None = None

    def start(self, broker: BrokerProcess, trigger: Any = None, **options: Any) -> StreamingQuery:
        given = {"kafka.bootstrap.servers": broker.bootstrap, "startingOffsets": "earliest", **options}
        frame = self._spark.readStream.format("penstock").options(**given).load()
        writer = frame.selectExpr("CAST(value AS STRING) AS value").writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(self._checkpoint)).option("path", str(self._files))
        self.query = writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start()
        return self.query

    def rows(self) -> list[str]:
        """The rows so far; raises the error of a query that has failed."""
        if self.query is not None and (error := self.query.exception()) is not None:
            raise error
        if not list(self._files.glob("_spark_metadata/[0-9]*")):
            return []
        return sorted(row.value for row in self._spark.read.schema("value STRING").parquet(str(self._files)).collect())

    def wait_for(self, *expected: str) -> None:
        wait_until(lambda: self.rows() == sorted(expected), what=f"{expected} have come", within_s=WITHIN_S)

    def sizes(self) -> list[int]:
        """How many rows each batch had."""
        assert self.query is not None
        return [each["numInputRows"] for each in self.query.recentProgress if each["numInputRows"]]

    def stop(self) -> None:
        if self.query is not None:
            self.query.stop()


@pytest.fixture
def live(spark: SparkSession, tmp_path: Path) -> Iterator[Live]:
    made = Live(spark, tmp_path)
    yield made
    made.stop()


def failure(query: StreamingQuery) -> str:
    wait_until(lambda: not query.isActive, what="the query ends", within_s=WITHIN_S)
    return str(query.exception())


@pytest.mark.feature("S-01")
def test_every_kind_of_trigger(live: Live, broker: BrokerProcess, topic: str, client: RawClient) -> None:
    """One after the other, over one checkpoint: each reads what is new since the last."""
    for value, trigger in (("a", {"once": True}), ("b", {"availableNow": True})):
        put(client, topic, value)
        assert live.start(broker, trigger, subscribe=topic).awaitTermination(WITHIN_S)
    put(client, topic, "c")
    live.start(broker, {"processingTime": "300 milliseconds"}, subscribe=topic)
    live.wait_for("a", "b", "c")
    put(client, topic, "d")
    live.wait_for("a", "b", "c", "d")


@pytest.mark.feature("S-01")
def test_few_records_wait_for_more(live: Live, broker: BrokerProcess, topic: str, client: RawClient) -> None:
    put(client, topic, "a", "b")
    live.start(broker, subscribe=topic, minOffsetsPerTrigger=5, maxTriggerDelay="1h")
    wait_until(lambda: live.query and live.query.recentProgress, what="the query idles", within_s=WITHIN_S)
    put(client, topic, "c", "d", "e", "f")
    live.wait_for(*"abcdef")
    wait_until(live.sizes, what="the batch is told of", within_s=WITHIN_S)
    assert live.sizes() == [6]


def test_few_records_do_not_wait_for_ever(live: Live, broker: BrokerProcess, topic: str, client: RawClient) -> None:
    live.start(broker, subscribe=topic, minOffsetsPerTrigger=100, maxOffsetsPerTrigger=200, maxTriggerDelay="2s")
    wait_until(lambda: live.query and live.query.recentProgress, what="the query idles", within_s=WITHIN_S)
    put(client, topic, "a")
    started = time.monotonic()
    live.wait_for("a")
    assert time.monotonic() - started >= 2


def test_topics_that_come_later(live: Live, broker: BrokerProcess, client: RawClient) -> None:
    prefix = unique_name("later")
    put(client, client.create_topic(f"{prefix}-a"), "a")
    live.start(broker, subscribePattern=f"^{prefix}-.*")
    live.wait_for("a")
    put(client, client.create_topic(f"{prefix}-b", partitions=2), "b", partition=1)
    live.wait_for("a", "b")


# --- what is lost ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["subscribe", "subscribePattern", "assign"])
def test_a_topic_that_vanishes(live: Live, broker: BrokerProcess, client: RawClient, by: str) -> None:
    topic = client.create_topic()
    selection = {by: f'{{"{topic}": [0]}}' if by == "assign" else topic}
    put(client, topic, "a")
    query = live.start(broker, **selection)
    live.wait_for("a")
    client.delete_topic(topic)
    told = failure(query)
    assert topic in told
    assert "With failOnDataLoss=false the query goes on with what there is" in told


def test_a_topic_that_vanishes_and_nobody_minds(live: Live, broker: BrokerProcess, client: RawClient) -> None:
    gone, stays = client.create_topic(), client.create_topic()
    put(client, gone, "a")
    live.start(broker, subscribe=f"{gone},{stays}", failOnDataLoss=False)
    live.wait_for("a")
    client.delete_topic(gone)
    put(client, stays, "b")
    live.wait_for("a", "b")
    client.create_topic(gone)
    put(client, gone, "c")
    live.wait_for("a", "b", "c")


@pytest.mark.parametrize("fails", [True, False])
def test_records_that_age_out_before_they_are_read(
    live: Live, broker: BrokerProcess, topic: str, client: RawClient, fails: bool
) -> None:
    put(client, topic, "a")
    live.start(broker, subscribe=topic)
    live.wait_for("a")
    live.stop()
    put(client, topic, "b", "c", "d")
    client.delete_records(topic, 3)
    query = live.start(broker, subscribe=topic, failOnDataLoss=fails)
    if fails:
        assert f"{topic}-0 starts at 3, the records from 1 on are gone" in failure(query)
    else:
        live.wait_for("a", "d")


# --- brokers ---------------------------------------------------------------------------------------------------------


def test_a_broker_that_is_away_is_waited_for(live: Live, own_broker: BrokerProcess) -> None:
    """Longer than any request may take: an idle query asks again and again."""
    with RawClient(own_broker.host, own_broker.port) as client:
        topic = client.create_topic()
        put(client, topic, "a")
    query = live.start(own_broker, subscribe=topic, **{"kafka.default.api.timeout.ms": 500})
    live.wait_for("a")
    own_broker.kill9()
    away_until = time.monotonic() + 5
    wait_until(lambda: not query.isActive or time.monotonic() > away_until, what="five seconds", within_s=10)
    assert query.isActive, query.exception()
    own_broker.start()
    with RawClient(own_broker.host, own_broker.port) as client:
        put(client, topic, "b")
    live.wait_for("a", "b")


def test_an_idle_query_seldom_asks(broker: BrokerProcess, topic: str) -> None:
    """Spark asks for the end ninety times a second."""
    reader = StreamReader(parse_read({"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}, streaming=True))
    start = reader.initialOffset()
    started = time.monotonic()
    for _ in range(20):
        assert reader.latestOffset(start, ReadAllAvailable()) == start
    assert time.monotonic() - started >= 19 * ASK_EVERY_S
    reader.stop()
