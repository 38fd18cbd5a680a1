"""A batch has one name, whether its rows went with the commit or tasks encoded them: it is written once in any mix."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.test_spark_few_rows import by_tasks
from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300), pytest.mark.feature("S-02", "X-02")]


@pytest.mark.parametrize("tasks_first", [False, True])
def test_a_batch_that_runs_again_in_another_way(
    spark: SparkSession, broker: BrokerProcess, client: RawClient, tmp_path: Path, tasks_first: bool
) -> None:
    """Spark's own note of the commit is taken away, as a crash right before it does."""
    source, target = client.create_topic(), client.create_topic()
    put(client, source, *"abc")
    checkpoint = tmp_path / "checkpoint"

    def run(*, by_task: bool) -> str:
        options = {"kafka.bootstrap.servers": broker.bootstrap}
        rows = spark.readStream.format("penstock").options(**options, subscribe=source, startingOffsets="earliest")
        writer = rows.load().writeStream.format("penstock").options(**options, topic=target)
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        if by_task:
            with by_tasks(spark):
                query = writer.start()
                assert query.awaitTermination(100)
        else:
            query = writer.start()
            assert query.awaitTermination(100)
        return str(query.id)

    first = run(by_task=tasks_first)
    (checkpoint / "commits" / "0").unlink()
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    assert run(by_task=not tasks_first) == first
    values = [record.value for record in client.fetch_records(target) if record.key and record.key.startswith(b"k")]
    assert values == [b"a", b"b", b"c"]
    names = {one.transactional_id for one in client.call("list_transactions", 0).transaction_states}
    assert {name for name in names if first in name} == {f"penstock-{first}"}
