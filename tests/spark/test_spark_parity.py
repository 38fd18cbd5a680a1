"""The same queries through Spark's own connector and through ours give the same rows; and that connector works, too."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.model.batch_builder import NewRecord, build_batch
from tests.spark.conftest import CONNECTOR
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not CONNECTOR.is_dir(), reason="make compat-setup fetches Spark's Kafka connector"),
]

Both = Callable[..., tuple[list[Any], list[Any]]]


@pytest.fixture
def both(spark: SparkSession, broker: BrokerProcess) -> Both:
    """The rows of a query through each, in one order."""

    def query(shape: Callable[[DataFrame], DataFrame] = lambda frame: frame, **options: Any) -> Any:
        given = {"kafka.bootstrap.servers": broker.bootstrap, "kafka.isolation.level": "read_committed", **options}
        found = []
        for source in ("kafka", "penstock"):
            frame = shape(spark.read.format(source).options(**given).load())
            found.append(sorted(frame.collect(), key=str))
        return tuple(found)

    return query


def random_records(random_: random.Random, count: int, start: int) -> list[NewRecord]:
    def maybe(size: int) -> bytes | None:
        return None if random_.random() < 0.15 else random_.randbytes(random_.randrange(size))

    return [
        NewRecord(
            maybe(20), maybe(300),
            tuple((f"h{number}", maybe(10)) for number in range(random_.randrange(3))),
            start + random_.randrange(-5000, 5000),
        )
        for _ in range(count)
    ]  # fmt: skip


@pytest.mark.feature("S-01")
@pytest.mark.parametrize("seed", range(3))
def test_random_records(both: Both, client: RawClient, seed: int) -> None:
    random_, start = random.Random(seed), now_ms() - 100_000
    topic = client.create_topic(partitions=3)
    for number in range(15):
        batch = build_batch(random_records(random_, random_.randrange(1, 60), start), timestamp=start, codec=number % 5)
        assert client.produce(topic, bytes(batch), partition=random_.randrange(3)).error_code == 0
    theirs, ours = both(subscribe=topic, includeHeaders=True)
    assert ours == theirs
    assert len(ours) > 100
    theirs, ours = both(subscribe=topic, startingTimestamp=start, endingTimestamp=start + 2000)
    assert ours == theirs
    theirs, ours = both(
        lambda frame: frame.groupBy("partition", "timestampType").count(), subscribe=topic, minPartitions=7
    )
    assert ours == theirs


@pytest.mark.feature("S-01", "X-02")
def test_transactions_that_ended_either_way(both: Both, client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    for number in range(12):
        producer = TransactionClient(client, unique_name("tx"), V2).init()
        for partition in range(2):
            producer.send(topic, f"{number}-{partition}", partition=partition)
        producer.end(commit=number % 3 != 0)
        producer.wait_for("CompleteAbort" if number % 3 == 0 else "CompleteCommit")
    theirs, ours = both(subscribe=topic)
    assert ours == theirs
    assert len(ours) == 16


def test_a_compacted_topic_with_gaps(both: Both, client: RawClient) -> None:
    configs = {"cleanup.policy": "compact", "segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.01"}
    topic = client.create_topic(configs=configs)
    for number in range(40):
        records = [NewRecord(f"k{index % 7}".encode(), bytes(20_000)) for index in range(number, number + 4)]
        client.produce(topic, bytes(build_batch(records, timestamp=now_ms())))
    wait_until(lambda: len(both(subscribe=topic)[1]) < 120, what="compaction", within_s=60)
    wait_until(lambda: (found := both(subscribe=topic))[0] == found[1], what="both see the same", within_s=60)


@pytest.mark.feature("S-01")
def test_patterns_mean_the_same(both: Both, client: RawClient) -> None:
    """Found anywhere in a name; topics that brokers keep for themselves are left out."""
    prefix = unique_name("pattern")
    for name in ("a", "ab", "b"):
        topic = client.create_topic(f"{prefix}-{name}")
        client.produce(topic, bytes(build_batch([NewRecord(b"k", name.encode())], timestamp=now_ms())))
    TransactionClient(client, unique_name("tx"), V2).init()  # there is a topic of transactions
    for pattern, names in (("a", "a ab"), ("a$", "a"), (".$", "a b"), ("(a|b)|__transaction_state", "a ab b")):
        theirs, ours = both(subscribePattern=f"{prefix}-{pattern}")
        assert ours == theirs
        assert sorted(bytes(row.value).decode() for row in ours) == names.split()


# --- Spark's own connector against the broker ------------------------------------------------------------------------


@pytest.mark.feature("S-07", "F-01")
def test_sparks_connector_reads_and_writes(spark: SparkSession, broker: BrokerProcess, client: RawClient) -> None:
    topic, address = client.create_topic(partitions=2), {"kafka.bootstrap.servers": broker.bootstrap}
    frame = spark.range(5000).selectExpr("CAST(id AS STRING) AS key", "CAST(id * 2 AS STRING) AS value")
    frame.write.format("kafka").options(**address, topic=topic).save()
    read = spark.read.format("kafka").options(**address, subscribe=topic).load()
    assert sorted(read.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)").collect()) == sorted(frame.collect())


@pytest.mark.feature("S-07", "F-01")
def test_sparks_connector_streams(
    spark: SparkSession, broker: BrokerProcess, client: RawClient, tmp_path: Path
) -> None:
    source, target = client.create_topic(partitions=2), client.create_topic()
    address = {"kafka.bootstrap.servers": broker.bootstrap}
    frame = spark.range(1000).selectExpr("CAST(id AS STRING) AS value")
    frame.write.format("kafka").options(**address, topic=source).save()
    stream = spark.readStream.format("kafka").options(**address, subscribe=source, startingOffsets="earliest").load()
    writer = stream.selectExpr("value").writeStream.format("kafka").options(**address, topic=target)
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    assert query.awaitTermination(100)
    copied = spark.read.format("penstock").options(**address, subscribe=target).load()
    assert sorted(row.value for row in copied.selectExpr("CAST(value AS STRING) AS value").collect()) == sorted(
        row.value for row in frame.collect()
    )
