"""What a task asks a broker for at once, and what it passes on to Spark at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FetchLimits:
    """A task holds two answers and one Arrow batch; a single record batch may be larger than each."""

    max_bytes: int = 4 << 20
    min_bytes: int = 1
    max_wait_ms: int = 500
    rows: int = 1 << 16
    """Rows from which on an Arrow batch goes to Spark."""


USUAL = FetchLimits()
