"""The lag of the event loop: a timer that should fire every 20 ms, and the histogram of its delays.

Whatever holds the loop (a long computation, a thread that holds the GIL, a slow read) shows up here, whichever part did
it. The timer costs about 10 µs each time, 0.05 % of a core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from penstock.observability.timings import Timings, histogram

INTERVAL_S = 0.02
WINDOW_S = 30.0
# Fine around 10 ms, the promise (p99.9) that alerts and tests check.
BOUNDS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class LoopLag:
    """Runs between `start` and `stop` on one loop."""

    def __init__(self) -> None:
        self.timings = Timings(BOUNDS)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._window_end = 0.0
        self._worst = self._worst_before = 0.0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._window_end = loop.time() + WINDOW_S
        self._schedule(loop)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def worst_seconds(self) -> float:
        """The longest delay of the last 30 to 60 seconds."""
        return max(self._worst, self._worst_before)

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = loop.time() + INTERVAL_S
        self._timer = loop.call_at(self._due, self._fired)

    def _fired(self) -> None:
        loop = self._loop
        assert loop is not None, "the timer runs only after start"
        now = loop.time()
        lag = max(0.0, now - self._due)
        self.timings.observe(lag)
        if now >= self._window_end:
            self._worst, self._worst_before = 0.0, self._worst
            self._window_end = now + WINDOW_S
        self._worst = max(self._worst, lag)
        self._schedule(loop)

    def families(self) -> Iterator[Metric]:
        yield histogram("penstock_loop_lag_seconds", "How late the event loop's timers fire", self.timings)
        yield GaugeMetricFamily(
            "penstock_loop_lag_worst_seconds", "Longest delay of the last minute", value=self.worst_seconds
        )
