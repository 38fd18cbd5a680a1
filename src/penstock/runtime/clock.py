"""The clock of drivers. Cores take the time as an argument."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: wall-clock time for timestamps, monotonic time for durations."""

    def now_ms(self) -> int:
        """Wall clock, milliseconds since 1970."""
        ...

    def monotonic_ms(self) -> int:
        """Monotonic milliseconds, for timeouts."""
        ...


class SystemClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000
