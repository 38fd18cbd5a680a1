"""Options and frames that make no sense: one sentence that names the fix, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.model.batch_builder import NewRecord, build_batch
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300), pytest.mark.feature("S-01", "S-02")]

T = "{topic}"
READS: tuple[tuple[dict[str, str], str], ...] = (
    ({}, "exactly one of subscribe, subscribePattern and assign says what to read, and none is given"),
    ({"subscribe": T, "assign": '{{"{topic}": [0]}}'}, "says what to read, and more than one is given"),
    ({"subscribe": "no-such-topic"}, "there is no topic no-such-topic: create it, or correct subscribe"),
    ({"assign": '{{"{topic}": [0, 99]}}'}, "there is no partition {topic}-99: create it, or correct assign"),
    ({"subscribe": T, "startingOffsets": '{{"{topic}": {{"0": 0, "99": 0}}}}'},
     "startingOffsets names {topic}-99: it must have exactly the partitions that are read"),
    ({"subscribe": T, "minPartitions": "abc"}, "minPartitions is a number above 0, not 'abc'"),
    ({"subscribe": T, "minPartitions": "-3"}, "minPartitions is a number above 0, not '-3'"),
    ({"subscribePattern": "a(b"}, "is no regular expression of Java: a group is not closed by )"),
    ({"subscribe": T, "startingOfsets": "latest"}, "there is no option startingofsets: did you mean startingOffsets?"),
    ({"subscribe": T, "mode": "merge"}, "mode is append or upsert, not 'merge'"),
    ({"subscribe": T, "valueFormat": "csv", "valueSchema": "a INT, b INT", "badRows": "fail"},
     "{topic}-0 at offset 0: the value has too few fields. badRows=quarantine gives such rows"),
)  # fmt: skip


@pytest.mark.parametrize(("options", "sentence"), READS, ids=lambda case: str(case)[:60])
def test_reads(
    read: Callable[..., DataFrame], client: RawClient, topic: str, options: dict[str, str], sentence: str
) -> None:
    client.produce(topic, bytes(build_batch([NewRecord(None, b"1")], timestamp=now_ms())))
    given = {name: value.format(topic=topic) for name, value in options.items()}
    with pytest.raises(PySparkException) as refusal:
        read(**given).collect()
    assert sentence.format(topic=topic) in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"mode": "merge"}, "mode is append or upsert, not 'merge'"),
        ({"mode": "upsert"}, "mode=upsert is for batch queries only"),
        ({"endingOffsets": "latest"}, "endingOffsets cannot be used for a stream read: it is for batch queries"),
        ({"maxOffsetsPerTrigger": "few"}, "maxOffsetsPerTrigger is a number above 0, not 'few'"),
    ],
)
def test_streams(
    spark: SparkSession, broker: BrokerProcess, topic: str, tmp_path: Path, options: dict[str, str], sentence: str
) -> None:
    given: dict[str, Any] = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, **options}

    def run() -> None:
        frame = spark.readStream.format("penstock").options(**given).load()
        query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
        query.awaitTermination(60)

    with pytest.raises(PySparkException) as refusal:
        run()
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        (["'v' AS vale"], {"topic": T}, "there is no column value; there are: vale. Fix: rename vale to value"),
        (["'v' AS value"], {}, "say where to: the option topic, or a column topic"),
        (["'v' AS value", "IF(id > 1, NULL, '{topic}') AS topic"], {},
         "a row has null in the column topic: fill it, or name a topic for all rows with the option topic"),
        (["'v' AS value", "CAST(id * 99 AS INT) AS partition"], {"topic": T},
         "the column partition has 99, and topic {topic} has 1 partitions"),
        (["id AS value"], {"topic": T}, "the column value is BIGINT; it must be STRING or BINARY"),
        (["'v' AS value"], {"topic": T, "kafka.lingr.ms": "5"}, "kafka.lingr.ms: did you mean kafka.linger.ms?"),
        (["'v' AS value"], {"topic": T, "kafka.acks": "two"}, "kafka.acks is all, 1 or 0, not 'two'"),
        (["REPEAT(id, 5000) AS value"], {"topic": T, "kafka.max.request.size": "999"}, "kafka.max.request.size is 999"),
    ],
)  # fmt: skip
def test_writes(
    spark: SparkSession, broker: BrokerProcess, read: Callable[..., DataFrame], topic: str,
    columns: list[str], options: dict[str, str], sentence: str,
) -> None:  # fmt: skip
    given = {name: value.format(topic=topic) for name, value in options.items()}
    frame = spark.range(0, 4, 1, 1).selectExpr(*(column.format(topic=topic) for column in columns))
    address = {"kafka.bootstrap.servers": broker.bootstrap}
    with pytest.raises(PySparkException) as refusal:
        frame.write.format("penstock").mode("append").options(**address, **given).save()
    assert sentence.format(topic=topic) in str(refusal.value)
    assert read(subscribe=topic).count() == 0
