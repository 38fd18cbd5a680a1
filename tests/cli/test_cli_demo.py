"""`penstock demo`: a real broker, real load, small."""

from tests.cli.conftest import CommandLine

SYMBOLS = ["AAPL", "GOOGL", "MSFT", "TSLA", "AMZN"]


def test_the_demo_shows_every_symbol_and_ends_well(alone: CommandLine) -> None:
    shown = alone("demo", "--messages", 500)
    rows = {line.split()[0]: line.split() for line in shown.lines if line.split()[:1] and line.split()[0] in SYMBOLS}
    assert {symbol: row[1] for symbol, row in rows.items()} == dict.fromkeys(SYMBOLS, "100")
    assert "Where to go next" in shown.out


def test_the_demo_speaks_json(alone: CommandLine) -> None:
    found = alone("demo", "--messages", 50, "--output", "json").json
    assert [(row["symbol"], row["messages"]) for row in found["symbols"]] == [(symbol, 10) for symbol in SYMBOLS]


def test_the_demo_is_not_disturbed_by_the_environment(alone: CommandLine) -> None:
    alone("demo", "--messages", 50, BROKER_PORT="1", NODE_ID="x", PENSTOCK_KAFKA__PORT="2", DATA_DIR="/nowhere")
