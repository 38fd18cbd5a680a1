"""Options in real queries: what is taken by both connectors, what both refuse, and what is said on the driver."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.model.batch_builder import NewRecord, build_batch
from tests.spark.conftest import CONNECTOR
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
needs_connector = pytest.mark.skipif(not CONNECTOR.is_dir(), reason="make compat-setup fetches Spark's Kafka connector")

OF_READS: dict[str, str] = {
    "kafka.group.id": "g", "groupIdPrefix": "p", "kafka.fetch.max.bytes": "2000", "kafka.max.poll.records": "7",
    "kafka.max.partition.fetch.bytes": "1500", "kafka.fetch.min.bytes": "10", "kafka.fetch.max.wait.ms": "20",
    "kafka.request.timeout.ms": "20000", "kafka.default.api.timeout.ms": "30000", "fetchOffset.numRetries": "3",
    "fetchOffset.retryIntervalMs": "10", "kafkaConsumer.pollTimeoutMs": "20000", "maxOffsetsPerTrigger": "5",
    "minOffsetsPerTrigger": "1", "maxTriggerDelay": "1s", "kafka.session.timeout.ms": "9000", "topic": "elsewhere",
    "kafka.heartbeat.interval.ms": "900", "kafka.client.id": "c", "kafka.reconnect.backoff.ms": "20",
    "kafka.reconnect.backoff.max.ms": "200", "kafka.metadata.max.age.ms": "1000", "kafka.linger.ms": "1",
}  # fmt: skip
OF_WRITES: dict[str, str] = {
    "kafka.linger.ms": "5", "kafka.batch.size": "3000", "kafka.max.request.size": "100000", "kafka.acks": "1",
    "kafka.retries": "3", "kafka.delivery.timeout.ms": "40000", "kafka.request.timeout.ms": "20000",
    "kafka.compression.type": "gzip", "kafka.buffer.memory": "1000000", "kafka.max.block.ms": "30000",
    "kafka.max.in.flight.requests.per.connection": "1", "kafka.enable.idempotence": "false", "subscribe": "elsewhere",
}  # fmt: skip
REFUSED = (
    {"kafka.auto.offset.reset": "earliest"}, {"kafka.key.deserializer": "x"}, {"kafka.value.deserializer": "x"},
    {"kafka.enable.auto.commit": "true"}, {"kafka.interceptor.classes": "x"}, {"assign": "{}"},
    {"startingOffsets": "latest"}, {"endingOffsets": "earliest"}, {"minPartitions": "0"}, {"minPartitions": "-3"},
    {"minPartitions": "abc"}, {"startingOffsets": '{"elsewhere": {"0": 1}}'},
)  # fmt: skip


def fill(client: RawClient, topic: str, count: int) -> None:
    for number in range(count):
        record = NewRecord(b"k", f"{number}".encode() * 20)
        assert (
            client.produce(topic, bytes(build_batch([record], timestamp=now_ms())), partition=number % 2).error_code
            == 0
        )


@needs_connector
@pytest.mark.feature("S-01")
def test_options_of_reading_are_taken_by_both(spark: SparkSession, broker: BrokerProcess, client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    fill(client, topic, 60)
    found = []
    for source in ("kafka", "penstock"):
        given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, **OF_READS}
        found.append(sorted(spark.read.format(source).options(**given).load().collect()))
    assert found[0] == found[1]
    assert len(found[1]) == 60


@needs_connector
@pytest.mark.feature("S-02")
def test_options_of_writing_are_taken_by_both(spark: SparkSession, broker: BrokerProcess, client: RawClient) -> None:
    """With a column that is no part of a record, which both ignore."""
    frame = spark.range(500).selectExpr("CAST(id AS STRING) AS key", "CAST(id * 2 AS STRING) AS value", "id AS price")
    found = []
    for source in ("kafka", "penstock"):
        topic, address = client.create_topic(partitions=2), {"kafka.bootstrap.servers": broker.bootstrap}
        frame.write.format(source).options(**address, **OF_WRITES, topic=topic).mode("append").save()
        read = spark.read.format("kafka").options(**address, subscribe=topic).load()
        found.append(sorted(tuple(row) for row in read.select("key", "value", "partition").collect()))
    assert found[0] == found[1]
    assert len(found[1]) == 500


@needs_connector
@pytest.mark.parametrize(
    "options", REFUSED, ids=lambda given: ",".join(f"{key}={value}" for key, value in given.items())
)
def test_what_both_refuse(
    spark: SparkSession, broker: BrokerProcess, client: RawClient, topic: str, options: dict[str, str]
) -> None:
    for source in ("kafka", "penstock"):
        given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, **options}
        with pytest.raises(Exception, match=r".") as caught:
            spark.read.format(source).options(**given).load().collect()
        assert caught.type.__module__.startswith(("pyspark.", "py4j.")), source  # and no mistake of the test's


@pytest.mark.feature("S-01", "S-02")
def test_what_is_ignored_is_said_once_a_query(broker: BrokerProcess, client: RawClient, tmp_path: Path) -> None:
    """On the standard error of the driver, to which Spark passes on what its Python processes say."""
    topic, target = client.create_topic(partitions=2), client.create_topic(partitions=2)
    fill(client, topic, 20)
    command = [sys.executable, "-m", "tests.spark.option_driver", broker.bootstrap, topic, target, str(tmp_path)]
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    driver = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=250)
    assert driver.returncode == 0, driver.stderr[-5000:]
    said = re.findall(r"ignores options of this ([a-z ]+): kafka.check.crcs \(checksums are always", driver.stderr)
    assert sorted(said) == ["batch read", "stream read", "write", "write"]
