"""`penstock demo`: a real broker, real load, small. Its pipeline on Spark is in tests/spark/test_pipeline_demo.py."""

from pathlib import Path

from tests.cli.conftest import CommandLine

SYMBOLS = ["AAPL", "GOOGL", "MSFT", "TSLA", "AMZN"]


def test_the_demo_shows_every_symbol_and_ends_well(alone: CommandLine) -> None:
    shown = alone("demo", "--messages", 500, "--no-pipeline")
    rows = {line.split()[0]: line.split() for line in shown.lines if line.split()[:1] and line.split()[0] in SYMBOLS}
    assert {symbol: row[1] for symbol, row in rows.items()} == dict.fromkeys(SYMBOLS, "100")
    assert "Where to go next" in shown.out


def test_the_demo_speaks_json(alone: CommandLine) -> None:
    found = alone("demo", "--messages", 50, "--no-pipeline", "--output", "json").json
    assert [(row["symbol"], row["messages"]) for row in found["symbols"]] == [(symbol, 10) for symbol in SYMBOLS]


def test_without_java_the_broker_is_shown_and_the_rest_explained(alone: CommandLine, tmp_path: Path) -> None:
    shown = alone("demo", "--messages", 50, JAVA_HOME=str(tmp_path))
    assert "The pipeline on Spark was skipped" in shown.out
    assert "apt-get install openjdk-17-jre-headless" in shown.out
    assert "Where to go next" in shown.out


def test_the_demo_is_not_disturbed_by_the_environment(alone: CommandLine) -> None:
    small = ("demo", "--messages", 50, "--no-pipeline")
    alone(*small, BROKER_PORT="1", NODE_ID="x", PENSTOCK_KAFKA__PORT="2", DATA_DIR="/nowhere")
