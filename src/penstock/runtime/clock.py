"""Time as an argument: cores are given `now`, only drivers ask a clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: one that names moments, one that measures spans."""

    def now_ms(self) -> int:
        """Wall clock, milliseconds since 1970."""
        ...

    def monotonic_ms(self) -> int:
        """Never goes back; for timeouts."""
        ...


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
