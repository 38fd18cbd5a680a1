"""Places of mistakes in SQL files, from Spark's messages, whose lines count within a statement."""

from pathlib import Path

import pytest

from penstock_spark.pipelines.failure import Failure
from penstock_spark.pipelines.sql_file import SqlFile

TEXT = """\
-- Not a statement; only a comment
CREATE MATERIALIZED VIEW good AS SELECT ';' AS a;
CREATE MATERIALIZED VIEW orders_by_minute AS
SELEC date_trunc('MINUTE', timestamp) AS minute
FROM orders
"""
SYNTAX = """
[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'. SQLSTATE: 42601 (line 3, pos 0)

== SQL ==

CREATE MATERIALIZED VIEW orders_by_minute AS
SELEC date_trunc('MINUTE', timestamp) AS minute
^^^
FROM orders
"""
COLUMN = "[UNRESOLVED_COLUMN] A column with name `nosuch` cannot be resolved. SQLSTATE: 42703; line 3 pos 32;"
PATH = Path("transformations/by_minute.sql")


def test_a_syntax_error_has_its_file_and_line(tmp_path: Path) -> None:
    failure = Failure(tmp_path)
    failure.take_error(SqlFile(PATH, TEXT).mistake(SYNTAX))
    told = failure.document()["error"]
    assert told.startswith("transformations/by_minute.sql:4: Syntax error at or near 'SELEC'.")
    assert "line 3" not in told


def test_a_statement_that_is_not_found_leaves_the_file() -> None:
    assert SqlFile(PATH, "SELECT 1").mistake(SYNTAX).place == "transformations/by_minute.sql: "
    assert SqlFile(PATH, TEXT).mistake("[SOMETHING] else").place == "transformations/by_minute.sql: "


@pytest.mark.parametrize(("flow", "place"), [("good", ":3: "), ("spark_catalog.default.orders_by_minute", ":4: ")])
def test_a_flow_that_cannot_be_resolved_has_its_place(tmp_path: Path, flow: str, place: str) -> None:
    failure = Failure(tmp_path)
    failure.sources.append(SqlFile(Path("transformations/other.sql"), "CREATE STREAMING TABLE other"))
    failure.sources.append(SqlFile(PATH, TEXT))
    failure.take_message(f"Failed to resolve flow: '{flow}'.\n{COLUMN}")
    failure.take_error(RuntimeError("Failed to resolve flows in the pipeline."))
    told = failure.document()["error"]
    assert told.startswith(f"transformations/by_minute.sql{place}A column with name `nosuch`")


def test_a_flow_of_python_has_none(tmp_path: Path) -> None:
    failure = Failure(tmp_path)
    failure.sources.append(SqlFile(PATH, TEXT))
    failure.take_message(f"Failed to resolve flow: 'orders'.\n{COLUMN}")
    failure.take_error(RuntimeError("Failed to resolve flows in the pipeline."))
    assert failure.document()["error"].startswith("A column with name `nosuch`")
