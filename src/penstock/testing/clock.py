"""A clock that is moved by hand."""

from __future__ import annotations


class ManualClock:
    """Implements `runtime.clock.Clock`: both clocks move together."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._start_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._now_ms - self._start_ms

    def advance(self, milliseconds: int) -> None:
        assert milliseconds >= 0
        self._now_ms += milliseconds
