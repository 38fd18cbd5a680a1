"""One word is changed: jobs of Spark's own Kafka source go on from their checkpoints, and ours in that source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock_spark.reading.planning.progress import Progress
from tests.spark.checkpoints import Job
from tests.spark.conftest import CONNECTOR
from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not CONNECTOR.is_dir(), reason="make compat-setup fetches Spark's Kafka connector"),
]

OLD, NEW = "kafka", "penstock"


@pytest.fixture
def job(spark: SparkSession, broker: BrokerProcess, tmp_path: Path) -> Job:
    return Job(spark, broker.bootstrap, tmp_path, maxOffsetsPerTrigger=4)


def filled(client: RawClient, name: str | None = None) -> str:
    topic = client.create_topic(name, partitions=2) if name else client.create_topic(partitions=2)
    put(client, topic, *"abcde")
    put(client, topic, *"fgh", partition=1)
    return topic


@pytest.mark.feature("S-01")
@pytest.mark.parametrize(
    ("before", "after", "batch", "is_committed"),
    [
        (OLD, NEW, 0, False), (OLD, NEW, 0, True), (OLD, NEW, 1, False), (OLD, NEW, 1, True),
        (NEW, OLD, 1, False), (NEW, NEW, 1, False),
    ],
)  # fmt: skip
def test_a_job_that_is_killed_goes_on_in_the_other(
    job: Job, client: RawClient, before: str, after: str, batch: int, is_committed: bool
) -> None:
    """Wherever it was: a batch that was planned has the same rows again."""
    topic = filled(client)
    job.run(before, subscribe=topic)
    assert job.batches() >= 2
    offsets = (job.checkpoint / "offsets" / str(batch)).read_text()
    job.rewind(batch, is_committed=is_committed)
    put(client, topic, *"xyz")
    job.run(after, subscribe=topic)
    assert job.rows() == sorted("abcdefghxyz")
    assert (job.checkpoint / "offsets" / str(batch)).read_text() == offsets


@pytest.mark.feature("S-01")
def test_there_and_back_again(job: Job, client: RawClient) -> None:
    topic = filled(client)
    expected = "abcdefgh"
    for source, value in ((OLD, "1"), (NEW, "2"), (OLD, "3"), (NEW, "4")):
        put(client, topic, value)
        expected += value
        job.run(source, subscribe=topic)
        assert job.rows() == sorted(expected)


def test_two_topics_by_a_pattern_and_one_that_comes_later(job: Job, client: RawClient) -> None:
    prefix = unique_name("moved")
    first, second = filled(client, f"{prefix}-a"), filled(client, f"{prefix}-b")
    job.run(OLD, subscribePattern=f"{prefix}-.*")
    put(client, first, "1")
    put(client, second, "2", partition=1)
    put(client, client.create_topic(f"{prefix}-c"), "3")
    job.run(NEW, subscribePattern=f"{prefix}-.*")
    assert job.rows() == sorted("abcdefgh" * 2 + "123")


@pytest.mark.parametrize("options", [{"startingOffsets": "latest"}, {"startingTimestamp": "1"}])
def test_where_it_began_does_not_count_any_more(job: Job, client: RawClient, options: dict[str, str]) -> None:
    topic = filled(client)
    job.run(OLD, subscribe=topic)
    put(client, topic, "1")
    job.run(NEW, subscribe=topic, **options)
    assert job.rows() == sorted("abcdefgh1")


def test_a_state_goes_on(job: Job, client: RawClient) -> None:
    topic = filled(client)
    job.options["subscribe"] = topic
    job.count(OLD)
    put(client, topic, *"aab")
    job.count(NEW)
    assert job.counted() == {**dict.fromkeys("cdefgh", 1), "a": 3, "b": 2}


def test_the_group_and_the_ids_stay_from_then_on(job: Job, client: RawClient) -> None:
    topic = filled(client)
    job.run(OLD, subscribe=topic)
    found = []
    for value in "12":
        put(client, topic, value)
        job.run(NEW, subscribe=topic)
        last = job.checkpoint / "offsets" / str(job.batches() - 1)
        found.append(Progress.from_json(json.loads(last.read_text().splitlines()[-1])))
    assert found[0].group == found[1].group != ""
    assert found[0].ids == found[1].ids != {}


# --- the first batch -------------------------------------------------------------------------------------------------


def test_the_start_of_a_first_batch_that_was_not_finished(job: Job, client: RawClient) -> None:
    """Spark does not give a source the file in which the other one has it."""
    topic = filled(client)
    begin = json.dumps({topic: {"0": 1, "1": 0}})
    job.run(OLD, subscribe=topic, startingOffsets=begin)
    job.rewind(0, is_committed=False)
    told = job.fail(NEW, subscribe=topic, startingOffsets="latest")
    assert "give the JSON of that file as startingOffsets" in told
    stored = (job.checkpoint / "sources" / "0" / "0").read_text().splitlines()[-1]
    assert json.loads(stored) == json.loads(begin)
    job.run(NEW, subscribe=topic, startingOffsets=stored)
    assert job.rows() == sorted("bcdefgh")


def test_our_own_first_batch_knows_its_start(job: Job, client: RawClient) -> None:
    """Even if the options give another one by now."""
    topic = filled(client)
    job.run(NEW, subscribe=topic)
    job.rewind(0, is_committed=False)
    job.run(NEW, subscribe=topic, startingOffsets="latest")
    assert job.rows() == sorted("abcdefgh")


# --- what is no checkpoint of ours -----------------------------------------------------------------------------------


def test_a_reader_of_uncommitted_records_was_ahead(job: Job, client: RawClient) -> None:
    """The other source reads them unless told; ours waits until they are committed and reads none of them again."""
    topic = filled(client)
    producer = TransactionClient(client, unique_name("tx"), V2).init()
    producer.send(topic, "open")
    job.run(OLD, subscribe=topic)
    assert "open" in job.rows()
    job.run(NEW, subscribe=topic)
    producer.end(commit=True)
    producer.wait_for("CompleteCommit")
    put(client, topic, "1")
    job.run(NEW, subscribe=topic)
    assert job.rows() == sorted([*"abcdefgh1", "open"])


def test_offsets_beyond_the_end(job: Job, client: RawClient) -> None:
    topic = filled(client)
    job.run(OLD, subscribe=topic)
    newest = job.checkpoint / "offsets" / str(job.batches() - 1)
    newest.write_text(newest.read_text().replace('"0":5', '"0":500'))
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    told = job.fail(NEW, subscribe=topic)
    assert f"{topic}-0 ends at 5 and was read up to 500" in told


def test_a_checkpoint_of_another_topic(job: Job, client: RawClient) -> None:
    one, other = filled(client), filled(client)
    job.run(OLD, subscribe=one)
    told = job.fail(NEW, subscribe=other)
    assert f"the checkpoint is of a query that reads {one}, and this one does not" in told
    assert "failOnDataLoss" not in told, "nothing is lost"


@pytest.mark.parametrize("source", ["rate-micro-batch", "text"])
def test_a_checkpoint_of_another_source(job: Job, spark: SparkSession, client: RawClient, source: str) -> None:
    reader = spark.readStream.format(source)
    if source == "text":
        job.files.mkdir(parents=True)
        (job.files / "one.txt").write_text("a\n")
        frame = reader.load(str(job.files))
    else:
        frame = reader.option("rowsPerBatch", 1).load().selectExpr("CAST(value AS STRING) AS value")
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(job.checkpoint))
    query = writer.trigger(once=True).start()
    assert query.awaitTermination(100)
    told = job.fail(NEW, subscribe=filled(client))
    assert "it is of another source. Give this query a checkpointLocation of its own" in told
    assert job.rows() == []
