"""Pipelines that cannot run: the cause in one line, the rest in a log, and no Java stack on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock_spark.pipelines.failure import Failure, explained
from tests.support.pipelines import Project
from tests.support.raw_client import RawClient, unique_name
from tests.support.trading import publish

HEAD = """\
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()


def topic(name: str, **options: str) -> DataFrame:
    servers = spark.conf.get("penstock.bootstrap.servers")
    reader = spark.readStream.format("penstock").option("kafka.bootstrap.servers", servers)
    return reader.option("subscribe", name).options(startingOffsets="earliest", **options).load()


"""


@pytest.fixture
def broken(make_project: Any, client: RawClient) -> Any:
    """A project with one definition, of which something is wrong; what it says about it."""
    project: Project = make_project("prices", **{"spark.sql.pipelines.execution.maxFlowRetryAttempts": "0"})
    for definition in (project.directory / "transformations").iterdir():
        definition.unlink()

    def told(definition: str, verb: str = "run") -> str:
        (project.directory / "transformations" / "broken.py").write_text(HEAD + definition)
        said = project(verb, code=1).err.strip().splitlines()
        last = said[-1]
        assert last.startswith("penstock: prices"), said
        assert not any("at org.apache" in line for line in said), said
        log = Path(last.rpartition("the full log is ")[2])
        assert log.is_relative_to(project.directory / "state" / "logs")
        assert log.stat().st_size > 0
        return last

    return told


def table(body: str) -> str:
    return f"@dp.table\ndef orders() -> DataFrame:\n    return {body}\n"


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.feature("S-03")
def test_definitions_with_mistakes(broken: Any) -> None:
    line = len(HEAD.splitlines())
    assert f"transformations/broken.py:{line + 1}: SyntaxError" in broken("def :\n", "validate")
    told = broken(table("undefined_name"), "validate")
    assert f"transformations/broken.py:{line + 3}: NameError: name 'undefined_name' is not defined" in told
    assert "no_such_table" in broken(table("spark.readStream.table('no_such_table')"), "validate")
    assert "no_such_column" in broken(table("topic('a').select('no_such_column')"), "validate")
    told = broken(table("topic('a', maxOffsetPerTrigger='1')"), "validate")
    assert f"broken.py:{line + 1}: BadOption: there is no option maxoffsetpertrigger: did you mean" in told


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.feature("S-03")
def test_mistakes_in_sql_are_reported_with_file_and_line(make_project: Any) -> None:
    project: Project = make_project("prices")
    definition = project.directory / "transformations" / "latest_price.sql"
    first = "-- A comment; with a semicolon.\nCREATE MATERIALIZED VIEW one AS SELECT 1 AS a;\n"
    definition.write_text(first + "CREATE MATERIALIZED VIEW two AS\nSELEC a FROM one\n")
    told = project("validate", code=1).err
    assert "prices: transformations/latest_price.sql:4: Syntax error at or near 'SELEC'" in told
    definition.write_text(first + "CREATE MATERIALIZED VIEW two AS\nSELECT a\nFROM one WHERE nosuch > 1;\n")
    told = project("validate", code=1).err
    assert "flow two: transformations/latest_price.sql:5: A column" in told
    assert "`nosuch`" in told


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_table_that_only_spark_can_miss_is_refused_before_the_update(make_project: Any, client: RawClient) -> None:
    """A computed name cannot be read from the definitions, so the check waits for Spark, but not for the update."""
    project: Project = make_project("prices")
    definition = project.directory / "transformations" / "more.py"
    definition.write_text(
        HEAD + "@dp.materialized_view(name='mo' + 're')\ndef f() -> DataFrame:\n    return spark.range(3)\n"
    )
    told = project("run", "--show", "nosuch", code=4).err
    assert "table nosuch does not exist; the tables are bars, latest_price, more, prices, quarantine" in told
    assert not (project.directory / "state" / "_checkpoints").exists()


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.feature("S-03")
def test_a_flow_that_fails_while_it_runs(broken: Any, client: RawClient, topic: str) -> None:
    missing = unique_name()
    told = broken(table(f"topic('{missing}')"))
    assert "flow orders" in told
    assert missing in told
    publish(client, topic, ["1", "zero"])
    told = broken(table(f"topic('{topic}').selectExpr('CAST(CAST(value AS STRING) AS INT) AS number')"))
    assert "flow orders" in told
    assert "'zero'" in told


PYTHON_CAUSE = """\
org.apache.spark.SparkException: [PYTHON_DATA_SOURCE_ERROR] Failed when Python data source instance planned: \
Traceback (most recent call last):
  File "/x/stream_reader.py", line 66, in initialOffset
    places = options.selection.partitions(cluster)
  File "/x/selection.py", line 41, in partitions
penstock.model.errors.KafkaError: the topic orders does not exist
 SQLSTATE: 38000
\tat org.apache.spark.sql.errors.QueryCompilationErrors$.pythonDataSourceError(QueryCompilationErrors.scala:1)
Caused by: java.lang.IllegalStateException: something else
"""


def test_the_innermost_cause_is_told() -> None:
    assert explained(PYTHON_CAUSE) == "KafkaError: the topic orders does not exist"
    told = explained("[TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found. Verify the spelling.\n\nmore\nlines")
    assert told == "The table `x` cannot be found. Verify the spelling. (TABLE_OR_VIEW_NOT_FOUND)"
    assert explained("just a sentence\nand another") == "just a sentence"
    assert len(explained("word " * 1000)) < 1000


def test_what_a_flow_said_goes_before_what_the_run_says(tmp_path: Path) -> None:
    failure = Failure(tmp_path)
    assert not failure
    failure.take_message("Flow 'spark_catalog.default.orders' has FAILED.\nError: " + PYTHON_CAUSE)
    failure.take_error(RuntimeError("Run has FAILED."))
    assert failure
    assert failure.document() == {
        "error": "KafkaError: the topic orders does not exist",
        "flow": "spark_catalog.default.orders",
    }
