"""`penstock demo` and `penstock bench`: real brokers, real load, small."""

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


def test_bench_measures_both_sides_and_cleans_up(penstock: CommandLine) -> None:
    flags = ["--duration", 1, "--rate", 500, "--size", 200, "--consumers", 2, "--linger-ms", 0]
    found = penstock("bench", *flags, "--output", "json").json
    assert found["producers"]["messages"] == found["consumers"]["messages"] > 100
    assert found["producers"]["errors"] == found["consumers"]["errors"] == 0
    assert found["producers"]["latency_ms"]["p50"] > 0
    assert found["consumers"]["bytes"] == found["consumers"]["messages"] * 200
    assert found["topic"] not in penstock("topic", "list").out


def test_bench_on_an_unknown_topic_is_not_found(penstock: CommandLine) -> None:
    penstock("bench", "--topic", "no-such-topic", code=4)


def test_options_that_do_not_agree_are_wrong_usage(penstock: CommandLine) -> None:
    assert "acks" in penstock("bench", "--acks", "1", "-X", "enable.idempotence=true", code=2).err


def test_bench_with_nobody_to_work_is_wrong_usage(penstock: CommandLine) -> None:
    assert "--producers or --consumers" in penstock("bench", "--producers", 0, "--consumers", 0, code=2).err
