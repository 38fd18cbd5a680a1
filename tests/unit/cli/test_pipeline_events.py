"""The progress of an update, from its events."""

from typing import Any

from penstock.cli.demo.picture import bars_page
from penstock.cli.demo.prices import MINUTES, OPENING, prices
from penstock.cli.pipeline.events import UpdateProgress


def batch(flow: str, number: int, rows: int, **more: Any) -> dict[str, Any]:
    return {"kind": "progress", "flow": flow, "batch": number, "rows": rows, "seconds": 0.5, "lag": 7, **more}


def test_batches_are_added_up() -> None:
    progress = UpdateProgress()
    line = progress.take(batch("spark_catalog.default.orders", 3, 1000, groups=["orders-group"]))
    assert line == "orders: batch 3, 1,000 rows in 0.50 s, 2,000 rows/s, lag 7"
    progress.take(batch("spark_catalog.default.orders", 4, 50, groups=["orders-group"]))
    flow = progress.flows["orders"]
    assert (flow.rows, flow.batches, flow.rows_per_second, flow.groups) == (1050, 2, 1050, ["orders-group"])


def test_states_come_from_messages() -> None:
    progress = UpdateProgress()
    told = [
        progress.take({"kind": "message", "text": f"Flow spark_catalog.default.orders {text}."})
        for text in ("is QUEUED", "is STARTING", "is RUNNING", "is RUNNING", "has COMPLETED")
    ]
    assert told == ["", "", "orders: running", "", "orders: completed"]
    assert progress.take({"kind": "message", "text": "Run is COMPLETED."}) == ""
    assert progress.outcome == "running"


def test_the_end() -> None:
    progress = UpdateProgress()
    progress.take({"kind": "completed", "tables": {"orders": 3}})
    assert (progress.outcome, progress.tables, progress.error) == ("completed", {"orders": 3}, "")
    failed = UpdateProgress()
    failed.take({"kind": "failed", "error": "no such topic", "flow": "spark_catalog.default.orders"})
    assert (failed.outcome, failed.error, failed.flows["orders"].state) == ("failed", "no such topic", "failed")


def test_the_picture_has_a_candle_for_each_bar() -> None:
    bar = {"open": 10.0, "high": 12.0, "low": 9.0, "close": 11.0, "volume": 5}
    bars = [bar | {"symbol": symbol, "minute": f"2026-03-02 14:3{n}:00"} for symbol in ("A", "<B>") for n in range(3)]
    page = bars_page(bars)
    assert page.count("<title>2026") == 6
    assert "&lt;B&gt;" in page
    assert "<B>" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_prices_are_the_same_every_time_and_fill_the_half_hour() -> None:
    first = list(prices(600))
    assert first == list(prices(600))
    assert {symbol for symbol, _ in first} == set(OPENING)
    assert '"time": "2026-03-02T14:30:00.000Z"' in first[0][1]
    assert f"T14:{30 + MINUTES - 1}:" in first[-1][1]
