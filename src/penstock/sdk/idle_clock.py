"""Time without a record, for `idle_timeout_s`.

The clock runs while the consumer has an assignment. It stands still while a group works one out: a new group waits for
further members, and a rebalance waits for slow ones, so silence then says nothing about the topics. The pause is
limited, because a group whose broker is gone never finishes.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class IdleClock:
    def __init__(
        self, timeout_s: float | None, pause_s_max: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._timeout_s = timeout_s
        self._pause_s_max = pause_s_max
        self._monotonic = monotonic
        self._is_assigned = False
        self._since = monotonic()
        """Last change of the assignment."""

    def assigned(self) -> None:
        """Start the clock. An assignment without partitions counts: a group may have more members than partitions."""
        self._is_assigned = True
        self._since = self._monotonic()

    def unassigned(self) -> None:
        """Stop the clock until the next assignment."""
        self._is_assigned = False
        self._since = self._monotonic()

    def remaining_s(self, asked_at: float) -> float | None:
        """Seconds left of the timeout for a record that was asked for at `asked_at`; None without a timeout."""
        if self._timeout_s is None:
            return None
        now = self._monotonic()
        if self._is_assigned:
            counted_from = max(asked_at, self._since)
        else:
            counted_from = max(asked_at, min(now, self._since + self._pause_s_max))
        return max(0.0, counted_from + self._timeout_s - now)
