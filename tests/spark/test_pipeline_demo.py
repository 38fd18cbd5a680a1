"""`penstock demo` with its pipeline, as `make demo` runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.demo.prices import MINUTES, NOT_PRICES, OPENING
from tests.support.command_line import CommandLine
from tests.support.pipelines import PIPELINE_TIMEOUT_S

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.feature("S-03")
def test_the_demo_makes_bars_of_the_stream(tmp_path: Path) -> None:
    picture = tmp_path / "pictures" / "bars.html"
    done = CommandLine(None, timeout_s=PIPELINE_TIMEOUT_S)("demo", "--picture", picture, "-o", "json")
    found = json.loads(done.out)["pipeline"]
    assert len(found["bars"]) == MINUTES * len(OPENING)
    assert sum(bar["prices"] for bar in found["bars"]) == 20_000
    assert found["tables"]["quarantine"] == len(NOT_PRICES)
    large = [bar for bar in found["bars"] if abs(round((bar["close"] / bar["open"] - 1) * 100, 2)) >= 1.5]
    assert large
    told = sorted((alert["symbol"], alert["open"], alert["close"]) for alert in found["alerts"])
    assert told == sorted((bar["symbol"], bar["open"], bar["close"]) for bar in large)
    assert picture.read_text().count("<title>2026-03-02") == MINUTES * len(OPENING)
