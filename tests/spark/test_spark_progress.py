"""Progress reports of streams: what is read and written, and how far behind, as Spark's own connector has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.conftest import CONNECTOR
from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

WITHIN_S = 120


def progress(
    spark: SparkSession, source: str, target: str, checkpoint: Path, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """The reports of a query that reads three records at a time to the end."""
    given = {**options, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 3}
    frame = spark.readStream.format(source).options(**given).load().select("value")
    writer = frame.writeStream.format(source).option("topic", target).option("checkpointLocation", str(checkpoint))
    writer = writer.option("kafka.bootstrap.servers", options["kafka.bootstrap.servers"])
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(WITHIN_S)
    return [each for each in query.recentProgress if each["numInputRows"]]


@pytest.mark.feature("S-01", "S-07")
@pytest.mark.skipif(not CONNECTOR.is_dir(), reason="make compat-setup fetches Spark's Kafka connector")
def test_reports_beside_the_connector(
    spark: SparkSession, broker: BrokerProcess, client: RawClient, tmp_path: Path
) -> None:
    topic, target = client.create_topic(partitions=2), client.create_topic()
    put(client, topic, *"abcde")
    put(client, topic, *"xy", partition=1)
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}
    theirs = progress(spark, "kafka", target, tmp_path / "kafka", options)
    ours = progress(spark, "penstock", target, tmp_path / "penstock", options)
    assert ours[0]["sources"][0]["description"] == f"penstock[Subscribe[{topic}]]"
    assert theirs[0]["sources"][0]["description"] == f"KafkaV2[Subscribe[{topic}]]"
    assert ours[0]["sink"]["description"] == f"penstock[{target}]"
    names = {"minOffsetsBehindLatest", "maxOffsetsBehindLatest", "avgOffsetsBehindLatest"}
    for reports in (ours, theirs):
        assert sum(each["numInputRows"] for each in reports) == 7
        metrics = [each["sources"][0]["metrics"] for each in reports]
        assert all(set(each) == names for each in metrics)
        assert metrics[-1] == {
            "minOffsetsBehindLatest": "0", "maxOffsetsBehindLatest": "0", "avgOffsetsBehindLatest": "0.0",
        }  # fmt: skip
        assert int(metrics[0]["maxOffsetsBehindLatest"]) > 0


@pytest.mark.parametrize(
    ("consumed", "newest", "behind"),
    [
        ('{"t": {"0": 5, "1": 7}}', '{"t": {"0": 6, "1": 10}}', ("1", "3", "2.0")),
        ('{"version": 1, "offsets": {"t": {"0": 5}}}', '{"version": 1, "offsets": {"t": {"0": 5}}}', ("0", "0", "0.0")),
        ('{"offsets": {"0": 5}}', '{"offsets": {"0": 6}}', ("1", "1", "1.0")),  # a topic of that name
        ('{"t": {"0": 5}, "ids": {"t": "x"}}', '{"t": {"0": 9}}', ("4", "4", "4.0")),
        ("no JSON", '{"t": {"0": 9}}', None),
        ('{"t": {"0": 9}}', "[1]", None),
    ],
)
def test_offsets_in_either_form(
    spark: SparkSession, consumed: str, newest: str, behind: tuple[str, ...] | None
) -> None:
    jvm: Any = spark._jvm
    found = dict(jvm.penstock.spark.Lag.metrics(consumed, newest))
    names = ("minOffsetsBehindLatest", "maxOffsetsBehindLatest", "avgOffsetsBehindLatest")
    assert found == (dict(zip(names, behind, strict=True)) if behind else {})
