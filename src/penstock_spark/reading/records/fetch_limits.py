"""What a task asks a broker for at once, and what it passes on to Spark at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FEW_BYTES: Final = 64 << 10
RECORD_BYTES: Final = 256
"""For a record, where few are wanted: what is behind them need not come."""


@dataclass(frozen=True, kw_only=True)
class FetchLimits:
    """A task holds two answers and one Arrow batch; a single record batch may be larger than each."""

    max_bytes: int = 4 << 20
    min_bytes: int = 1
    max_wait_ms: int = 500
    rows: int = 1 << 16
    """Rows from which on an Arrow batch goes to Spark."""

    def bytes_for(self, offsets: int) -> int:
        """What to ask for if so many offsets are left."""
        return min(self.max_bytes, max(FEW_BYTES, offsets * RECORD_BYTES))


USUAL = FetchLimits()
