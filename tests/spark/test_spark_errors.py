"""What a user sees of a failure: the reason in the first line, with the fix, and nothing of our files."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@dataclass
class World:
    spark: SparkSession
    client: RawClient
    bootstrap: str
    directory: Path
    full: str
    """A topic of two partitions with something in it."""
    aged: str
    """One that has lost its first two records."""
    held: str
    """One with an open transaction."""
    mute: str
    """The address of something that takes connections and never answers."""

    def options(self, **options: Any) -> dict[str, Any]:
        patience = {"kafka.default.api.timeout.ms": 1500, "kafkaConsumer.pollTimeoutMs": 500}
        return {"kafka.bootstrap.servers": self.bootstrap, **patience, **options}

    def read(self, **options: Any) -> None:
        self.spark.read.format("penstock").options(**self.options(**options)).load().collect()

    def stream(self, **options: Any) -> DataFrame:
        return self.spark.readStream.format("penstock").options(**self.options(**options)).load()

    def run(self, frame: DataFrame, sink: str = "noop", **options: Any) -> None:
        checkpoint = str(self.directory / unique_name("checkpoint"))
        writer = frame.writeStream.format(sink).options(**options).option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination(100)

    def write(self, query: str, **options: Any) -> None:
        given = {"kafka.bootstrap.servers": self.bootstrap, **options}
        self.spark.sql(query).write.format("penstock").mode("append").options(**given).save()

    def write_stream(self, *columns: str, **options: Any) -> None:
        frame = self.stream(subscribe=self.full, startingOffsets="earliest").selectExpr(*columns)
        self.run(frame, "penstock", **{"kafka.bootstrap.servers": self.bootstrap}, **options)


@pytest.fixture(scope="module")
def world(spark: SparkSession, broker: BrokerProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with RawClient(broker.host, broker.port) as client, socket.create_server(("127.0.0.1", 0)) as mute:
        full, aged, held = client.create_topic(partitions=2), client.create_topic(), client.create_topic()
        put(client, full, *"abc")
        put(client, aged, *"abc")
        client.delete_records(aged, 2)
        TransactionClient(client, "billing", V2, timeout=900_000).init().send(held, "open")
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        directory = tmp_path_factory.mktemp("errors")
        yield World(spark, client, broker.bootstrap, directory, full, aged, held, address)


def at(topic: str, offset: int) -> str:
    return json.dumps({topic: {"0": offset}})


ONE_ROW = "SELECT 'v' AS value"
CASES: dict[str, tuple[Callable[[World], None], str]] = {
    "an unknown option": (lambda it: it.read(subscribe=it.full, startingOfsets="x"), r"startingOfsets|startingofsets"),
    "an option of streams": (
        lambda it: it.run(it.stream(subscribe=it.full, endingOffsets="latest")),
        "endingOffsets cannot be used for a stream read: it is for batch queries",
    ),
    "no topic": (lambda it: it.read(subscribe="nothing"), "there is no topic nothing: create it, or correct subscribe"),
    "no topic, in a stream": (
        lambda it: it.run(it.stream(subscribe="nothing")),
        "there is no topic nothing: create it, or correct subscribe",
    ),
    "no broker": (
        lambda it: it.read(subscribe=it.full, **{"kafka.bootstrap.servers": "127.0.0.1:1"}),
        r"127\.0\.0\.1:1 cannot be reached: .*Is kafka\.bootstrap\.servers right, and does the broker run there",
    ),
    "no broker, in a stream": (
        lambda it: it.run(it.stream(subscribe=it.full, **{"kafka.bootstrap.servers": "127.0.0.1:1"})),
        r"127\.0\.0\.1:1 cannot be reached: .*Is kafka\.bootstrap\.servers right",
    ),
    "something else than a broker": (
        lambda it: it.read(subscribe=it.full, **{"kafka.bootstrap.servers": it.mute}),
        r"gave no answer: .*Is kafka\.bootstrap\.servers right",
    ),
    "TLS where there is none": (
        lambda it: it.read(subscribe=it.full, **{"kafka.security.protocol": "SSL"}),
        r"does not shake hands: .*set security\.protocol",
    ),
    "records that have aged out": (
        lambda it: it.read(subscribe=it.aged, startingOffsets=at(it.aged, 0), endingOffsets=at(it.aged, 3)),
        "starts at 2, the records from 0 on are gone. With failOnDataLoss=false what is left is read",
    ),
    "records that have aged out, in a stream": (
        lambda it: it.run(it.stream(subscribe=it.aged, startingOffsets=at(it.aged, 0))),
        "starts at 2, the records from 0 on are gone. With failOnDataLoss=false",
    ),
    "an end beyond the end": (
        lambda it: it.read(subscribe=it.aged, startingOffsets=at(it.aged, 2), endingOffsets=at(it.aged, 99)),
        "ends at 3, and offsets up to 99 were asked for",
    ),
    "an open transaction": (
        lambda it: it.read(subscribe=it.held, endingOffsets=at(it.held, 1)),
        r"the transaction billing \(of producer \d+, since .* penstock transaction abort billing",
    ),
    "a schema that values do not have": (
        lambda it: it.read(subscribe=it.full, valueFormat="json", valueSchema="a INT", badRows="fail"),
        "at offset 0: the value is broken JSON. badRows=quarantine",
    ),
    "a row without a topic": (
        lambda it: it.write(f"{ONE_ROW}, CAST(NULL AS STRING) AS topic"),
        "a row has null in the column topic: fill it, or name a topic for all rows",
    ),
    "a value that is a number": (
        lambda it: it.write("SELECT 5 AS value", topic=it.full),
        "the column value is INT; it must be STRING or BINARY",
    ),
    "a partition that there is not": (
        lambda it: it.write(f"{ONE_ROW}, 99 AS partition", topic=it.full),
        "the column partition has 99, and topic .* has 2 partitions",
    ),
    "a partition that there is not, in a stream": (
        lambda it: it.write_stream("value", "99 AS partition", topic=it.full),
        "the column partition has 99, and topic .* has 2 partitions",
    ),
    "a stream to nowhere": (
        lambda it: it.write_stream("value"),
        "say where to: the option topic, or a column topic",
    ),
}


@pytest.mark.feature("S-01", "S-02")
@pytest.mark.parametrize("name", CASES)
def test_the_first_line_says_why(world: World, name: str) -> None:
    act, told = CASES[name]
    with pytest.raises(Exception, match=told) as caught:
        act(world)
    text = str(caught.value).partition("=== Streaming Query ===")[0]
    lines = text.strip().splitlines()
    said = lines[1] if lines[0].endswith("Python worker:") else lines[0]  # Spark's own heading
    assert any(word in said for word in ("penstock_spark.errors.", "penstock.model.errors.")), said
    assert "Traceback" not in text
    assert ".py" not in text
    assert len(lines) <= 4, text


def test_nothing_was_written(world: World) -> None:
    """Bad rows are found before the first good one is sent."""
    topic = world.client.create_topic()
    with pytest.raises(Exception, match="has 1 partitions"):
        world.write("SELECT 'v' AS value, IF(id = 9, 99, 0) AS partition FROM range(0, 10, 1, 1)", topic=topic)
    assert world.client.log_end(topic) == 0
