"""Batch writes without a mode, and modes that a topic cannot have, beside Spark's own connector."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.spark.conftest import CONNECTOR
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not CONNECTOR.is_dir(), reason="make compat-setup fetches Spark's Kafka connector"),
]


@pytest.mark.feature("S-01", "S-07")
@pytest.mark.parametrize("mode", [None, "append", "error", "errorifexists"])
def test_modes_that_append(spark: SparkSession, broker: BrokerProcess, client: RawClient, mode: str | None) -> None:
    """A topic that exists and has records is no error."""
    topic, address = client.create_topic(), {"kafka.bootstrap.servers": broker.bootstrap}
    for source in ("kafka", "penstock"):
        writer = spark.range(3).selectExpr("CAST(id AS STRING) AS value").write.format(source)
        writer = writer.options(**address, topic=topic)
        (writer if mode is None else writer.mode(mode)).save()
    found = spark.read.format("penstock").options(**address, subscribe=topic).load()
    assert sorted(bytes(row.value) for row in found.collect()) == [b"0", b"0", b"1", b"1", b"2", b"2"]


@pytest.mark.feature("S-01", "S-07")
@pytest.mark.parametrize("mode", ["overwrite", "ignore"])
def test_modes_that_a_topic_cannot_have(
    spark: SparkSession, broker: BrokerProcess, client: RawClient, mode: str
) -> None:
    topic, address = client.create_topic(), {"kafka.bootstrap.servers": broker.bootstrap}
    for source in ("kafka", "penstock"):
        writer = spark.range(3).selectExpr("CAST(id AS STRING) AS value").write.format(source).mode(mode)
        with pytest.raises(AnalysisException) as refused:
            writer.options(**address, topic=topic).save()
    assert f'mode("append") or no mode, not {mode}' in str(refused.value)
    assert spark.read.format("penstock").options(**address, subscribe=topic).load().count() == 0


def test_a_refused_frame_says_why(spark: SparkSession, broker: BrokerProcess, topic: str) -> None:
    address = {"kafka.bootstrap.servers": broker.bootstrap}
    with pytest.raises(Exception, match="there is no column value"):
        spark.range(3).write.format("penstock").options(**address, topic=topic).save()
