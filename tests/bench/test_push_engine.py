"""The works of `bench.push.engine`, small: each measures something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.push import engine
from bench.spread import Figures
from penstock.config.settings import Flush

WORKS: dict[str, Callable[[Path], Figures]] = {
    "append": lambda directory: engine.append(directory, 0.05, Flush.ALWAYS),
    "append_os": lambda directory: engine.append(directory, 0.05, Flush.OS),
    "read_active": lambda directory: engine.read(directory, 0.05, sealed=False),
    "read_sealed": lambda directory: engine.read(directory, 0.05, sealed=True),
    "look_up": engine.look_up,
}


@pytest.mark.parametrize("name", WORKS)
def test_every_work_measures_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(engine, "SEGMENT_BYTES", 1 << 20)
    monkeypatch.setattr(engine, "LOOK_UPS", 100)
    figures = WORKS[name](tmp_path / "data")
    assert figures
    assert min(figures.values()) > 0
