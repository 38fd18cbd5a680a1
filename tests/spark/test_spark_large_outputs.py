"""Writes whose tasks have more output than a message takes, in a session: where it waits, and that nothing stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock_spark.writing.staging import TOPIC
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SETTING = "spark.penstock.localFiles"
Read = Callable[..., DataFrame]


@pytest.fixture
def topics_only(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(SETTING, "false")
    yield
    spark.conf.unset(SETTING)


def save(frame: DataFrame, broker: BrokerProcess, topic: str, **options: Any) -> None:
    given = {"kafka.bootstrap.servers": f"{broker.host}:{broker.port}", "delivery": "exactly-once", **options}
    frame.write.format("penstock").mode("append").options(**given, topic=topic, inlineBytes=1000).save()


def staged(read: Read) -> int:
    """How many batches have ever gone through the staging topic."""
    try:
        return read(subscribe=TOPIC, startingOffsets="earliest").count()
    except Exception as error:
        if "there is no topic" not in str(error):
            raise
        return 0


def left(spark: SparkSession) -> list[Path]:
    """What writes have left in the directory that Spark has for such things."""
    jvm: Any = spark._jvm
    local = jvm.org.apache.spark.util.Utils.getLocalDir(spark._jsc.sc().getConf())
    return [path for root in Path(local).glob("penstock-stage-*") for path in root.iterdir() if path.is_dir()]


def numbers(spark: SparkSession) -> DataFrame:
    return spark.range(0, 20_000, 1, 4).selectExpr("CAST(id AS STRING) AS value")


@pytest.mark.feature("S-02", "X-02")
def test_files_are_used_and_removed(spark: SparkSession, broker: BrokerProcess, read: Read, client: RawClient) -> None:
    topic, before = client.create_topic(partitions=2), staged(read)
    save(numbers(spark), broker, topic)
    assert read(subscribe=topic).select("value").distinct().count() == 20_000
    assert staged(read) == before
    assert not left(spark)


def test_the_topic_is_used_where_there_are_to_be_no_files(
    spark: SparkSession, broker: BrokerProcess, read: Read, client: RawClient, topics_only: None
) -> None:
    topic, before = client.create_topic(partitions=2), staged(read)
    save(numbers(spark), broker, topic)
    assert read(subscribe=topic).select("value").distinct().count() == 20_000
    assert staged(read) > before


def test_a_write_that_fails_leaves_nothing(
    spark: SparkSession, broker: BrokerProcess, read: Read, client: RawClient
) -> None:
    topic = client.create_topic(partitions=2)
    broken = numbers(spark).withColumn("value", F.expr("IF(value = '19999', raise_error('no'), value)"))
    with pytest.raises(Exception, match="no"):
        save(broken, broker, topic)
    assert read(subscribe=topic).count() == 0
    assert not left(spark)
