"""The list of fuzz targets, and what each of them brings."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from tests.fuzz.mutation import Change

HERE: Final = Path(__file__).parent
REGRESSIONS: Final = HERE / "regressions"
CORPUS: Final = HERE / ".cache"

# By name; the share of the time that each gets, since some have more behind them than others.
SHARES: Final = {
    "frames": 30, "requests": 15, "batches": 15, "log_files": 20, "group_records": 10, "push": 20, "logins": 10,
    "tls_handshakes": 10,
}  # fmt: skip


class Target(Protocol):
    """A module of this package."""

    def run(self, data: bytes) -> None:
        """Raises if something is wrong."""
        ...

    def seeds(self) -> dict[str, bytes]:
        """Inputs to begin with, by name."""
        ...

    def mutate(self, data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes: ...


def load(name: str) -> Target:
    target: Target = importlib.import_module(f"tests.fuzz.{name}")
    return target


def regressions(name: str) -> Iterator[Path]:
    """Inputs that once made the target fail; files named by the target and what was wrong."""
    return iter(sorted(REGRESSIONS.glob(f"{name}-*")))
