"""Bars for each flow on a terminal, lines elsewhere."""

import io

import pytest
from rich.console import Console

from penstock.cli.pipeline.events import UpdateProgress
from penstock.cli.pipeline.screen import picture, progress_screen


def told() -> UpdateProgress:
    progress = UpdateProgress()
    for text in ("Flow a.b.orders is RUNNING.", "Flow a.b.totals is QUEUED."):
        progress.take({"kind": "message", "text": text})
    batch = {"kind": "progress", "flow": "a.b.orders", "batch": 0, "rows": 3000, "seconds": 1.5, "lag": 1000}
    progress.take(batch | {"groups": ["g"]})
    return progress


@pytest.mark.feature("S-06")
def test_a_row_with_a_bar_for_each_flow() -> None:
    out = io.StringIO()
    Console(file=out, width=120, force_terminal=False).print(picture(told()))
    _, _, orders, totals, *_ = (line for line in out.getvalue().splitlines() if line.strip())
    assert orders.split()[0] == "orders"
    assert orders.split()[2:] == ["running", "3,000", "2,000", "1", "1.50", "s", "1,000"]
    bar = orders.split()[1]
    assert len(bar) == 18, "three quarters of 24"
    assert totals.split()[0] == "totals"
    assert totals.split()[-1] == "queued"


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_screen() as tell:
        tell(told(), "orders: running")
        tell(told(), "")
    assert capsys.readouterr().err == "orders: running\n"
