"""outputMode("update"): the rows that a batch changed become records, exactly once, over restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

Read = Callable[..., DataFrame]
WITHIN_S = 240


class Counting:
    """How often each value came, batch after batch, over one checkpoint."""

    def __init__(self, spark: SparkSession, broker: BrokerProcess, source: str, directory: Path) -> None:
        self._spark, self._address, self._source = spark, {"kafka.bootstrap.servers": broker.bootstrap}, source
        self._checkpoint = str(directory)

    def _counts(self) -> DataFrame:
        given = {**self._address, "subscribe": self._source, "startingOffsets": "earliest"}
        values = self._spark.readStream.format("penstock").options(**given).load()
        counts = values.groupBy(values.value.cast("string").alias("key")).count()
        return counts.selectExpr("key", "CAST(count AS STRING) AS value")

    def to_topic(self, target: str, mode: str) -> None:
        writer = self._counts().writeStream.format("penstock").options(**self._address, topic=target).outputMode(mode)
        query = writer.option("checkpointLocation", self._checkpoint).trigger(availableNow=True).start()
        assert query.awaitTermination(WITHIN_S)

    def by_hand(self, target: str) -> None:
        """The same by foreachBatch, which every sink can do."""

        def write(frame: DataFrame, _number: int) -> None:
            frame.write.format("penstock").options(**self._address, topic=target).mode("append").save()

        writer = self._counts().writeStream.foreachBatch(write).outputMode("update")
        query = writer.option("checkpointLocation", self._checkpoint).trigger(availableNow=True).start()
        assert query.awaitTermination(WITHIN_S)


def written(read: Read, topic: str) -> Counter[tuple[str, str]]:
    frame = read(subscribe=topic).selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)")
    return Counter((row.key, row.value) for row in frame.collect())


@pytest.mark.feature("S-02")
def test_changed_rows_come_once_over_restarts(
    spark: SparkSession, broker: BrokerProcess, read: Read, client: RawClient, tmp_path: Path
) -> None:
    source, ours, by_hand = client.create_topic(), client.create_topic(), client.create_topic()
    streams = Counting(spark, broker, source, tmp_path / "ours"), Counting(spark, broker, source, tmp_path / "theirs")
    for values in (("a", "b", "a"), ("b", "c")):
        put(client, source, *values)
        streams[0].to_topic(ours, "update")  # a query of its own each time: a restart from the checkpoint
        streams[1].by_hand(by_hand)
    expected = Counter([("a", "2"), ("b", "1"), ("b", "2"), ("c", "1")])
    assert written(read, ours) == written(read, by_hand) == expected
    # The last commit is lost: the batch runs again, finds its marker and writes nothing.
    last = max(int(path.name) for path in (tmp_path / "ours" / "commits").iterdir() if path.name.isdecimal())
    for name in (str(last), f".{last}.crc"):
        (tmp_path / "ours" / "commits" / name).unlink(missing_ok=True)
    streams[0].to_topic(ours, "update")
    assert written(read, ours) == expected


@pytest.mark.feature("S-02")
def test_complete_mode_writes_all_rows(
    spark: SparkSession, broker: BrokerProcess, read: Read, client: RawClient, tmp_path: Path
) -> None:
    source, target = client.create_topic(), client.create_topic()
    stream = Counting(spark, broker, source, tmp_path)
    put(client, source, "a", "b", "a")
    stream.to_topic(target, "complete")
    put(client, source, "b")
    stream.to_topic(target, "complete")
    assert written(read, target) == Counter([("a", "2"), ("b", "1"), ("a", "2"), ("b", "2")])
