"""A flow waits for the tables that it reads, in every run and not in the first alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.test_pipeline_failures import HEAD, table
from tests.support.pipelines import Project
from tests.support.raw_client import RawClient
from tests.support.trading import publish

DOUBLED = """

@dp.materialized_view
def doubled() -> DataFrame:
    return spark.read.table("orders").withColumn("twice", F.col("offset") * 2)
"""


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.feature("S-03")
def test_an_operator_that_spark_analyses_at_once(make_project: Any, client: RawClient, topic: str) -> None:
    """Without precaution, Spark 4.3 finds the table of the run before and does not wait for this run's."""
    project: Project = make_project("prices")
    for definition in (project.directory / "transformations").iterdir():
        definition.unlink()
    (project.directory / "transformations" / "orders.py").write_text(HEAD + table(f"topic('{topic}')") + DOUBLED)
    for count in (1, 2):
        publish(client, topic, ["order"])
        assert project.run()["tables"] == {"doubled": count, "orders": count}
