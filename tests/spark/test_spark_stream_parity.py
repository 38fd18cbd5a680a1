"""The same streams through Spark's own connector and through ours: rows, progress, and whether they fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.checkpoints import Job
from tests.spark.conftest import CONNECTOR
from tests.spark.parity_cases import CASES, Case
from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not CONNECTOR.is_dir(), reason="make compat-setup fetches Spark's Kafka connector"),
]

WHOLE = "to_json(struct(key, value, topic, partition, offset, timestamp, timestampType, headers))"


def end_of(query: StreamingQuery) -> tuple[Any, int]:
    """The offsets that a run has reached, without what ours has besides, and how many rows it had."""
    progress = [json.loads(each.json) for each in query.recentProgress]
    ends = [source["endOffset"] for each in progress for source in each["sources"] if source["endOffset"]]
    topics = {topic: at for topic, at in ends[-1].items() if not topic.startswith("/")} if ends else None
    return topics, sum(each["numInputRows"] for each in progress)


def again(job: Job, source: str, case: Case, **options: Any) -> tuple[Any, int] | str:
    if case.fails:
        job.fail(source, **options)
        return "failed"
    return end_of(job.run(source, **options))


@pytest.mark.feature("S-01")
@pytest.mark.parametrize("name", CASES)
def test_both_do_the_same(
    spark: SparkSession, broker: BrokerProcess, client: RawClient, tmp_path: Path, name: str
) -> None:
    case = CASES[name]
    topic = client.create_topic(unique_name("parity"), partitions=2, configs=case.configs)
    options = {
        "subscribePattern" if case.pattern else "subscribe": f"{topic}.*" if case.pattern else topic,
        "kafka.isolation.level": "read_committed", "includeHeaders": "true",
        **{name: str(value).replace("TOPIC", topic) for name, value in case.options.items()},
    }  # fmt: skip
    sources = ("penstock",) if case.differs else ("kafka", "penstock")
    jobs = {source: Job(spark, broker.bootstrap, tmp_path / source, **options) for source in sources}
    found: dict[str, list[Any]] = {source: [] for source in sources}
    case.first(client, topic)
    for source, job in jobs.items():
        job.shown = WHOLE
        found[source] += [end_of(job.run(source)), job.rows()]
    case.then(client, topic)
    for source, job in jobs.items():
        found[source] += [again(job, source, case), job.rows()]
    assert found["penstock"] == found.get("kafka", found["penstock"])
    assert found["penstock"][1] or found["penstock"][3]


@pytest.mark.feature("S-01")
@pytest.mark.parametrize("minds", [True, False])
def test_records_that_age_out_while_a_stream_runs(
    spark: SparkSession, broker: BrokerProcess, client: RawClient, tmp_path: Path, minds: bool
) -> None:
    """In the middle of its batches; whoever minds is told, and nobody gets anything twice.

    The consumer of Spark's own source reads ahead, so that it may still have a record that is gone.
    """
    outcomes = []
    for source in ("kafka", "penstock"):
        topic, rows = client.create_topic(unique_name("live")), list[tuple[int, str]]()
        for value in "abcdefghij":
            put(client, topic, value)

        def batch(frame: DataFrame, number: int, topic: str = topic, rows: list[tuple[int, str]] = rows) -> None:
            rows.extend(tuple(row) for row in frame.selectExpr("offset", "CAST(value AS STRING)").collect())
            if number == 1:
                client.delete_records(topic, 7)

        options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "startingOffsets": "earliest",
                   "kafka.max.partition.fetch.bytes": "1"}  # fmt: skip
        stream = spark.readStream.format(source).options(**options, maxOffsetsPerTrigger=2, failOnDataLoss=minds)
        writer = stream.load().writeStream.foreachBatch(batch).option("checkpointLocation", str(tmp_path / source))
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination(100)
        except StreamingQueryException:
            pass
        query.stop()
        outcomes.append((query.exception() is not None, [row for row in rows if row[0] not in range(4, 7)]))
        assert source == "kafka" or outcomes[-1][1] == rows
    assert outcomes[0] == outcomes[1]
    failed, rows = outcomes[1]
    assert failed is minds
    assert rows[:4] == list(enumerate("abcd"))
    assert minds or rows[4:] == list(enumerate("hij", 7))
