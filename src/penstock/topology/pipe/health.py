"""The health of a pipe, with hysteresis: it degrades quickly and recovers slowly.

    DEGRADED    after `degraded_failures` in a row, or a lag above `degraded_lag_ms`
    UNHEALTHY   after `unhealthy_failures` in a row, or a lag above `unhealthy_lag_ms`
    better      after `healthy_successes` in a row, if the lag allows it

No clock and no I/O: events and times come as arguments.
"""

from __future__ import annotations

from enum import IntEnum

from penstock.config.settings import PipeSettings


class PipeState(IntEnum):
    HEALTHY = 0
    DEGRADED = 1
    UNHEALTHY = 2


class PipeHealth:
    def __init__(self, settings: PipeSettings) -> None:
        self._settings = settings
        self._lag_ms = 0
        self._successes = 0
        self.state = PipeState.HEALTHY
        self.failures = 0
        """Failures in a row."""

    def failed(self) -> None:
        self.failures += 1
        self._successes = 0
        self._update()

    def succeeded(self) -> None:
        self.failures = 0
        self._successes += 1
        self._update()

    def lags(self, lag_ms: int) -> None:
        """Note for how long the child has been behind its parent."""
        self._lag_ms = lag_ms
        self._update()

    def another_parent(self) -> None:
        """Forget the failures of the previous parent."""
        self.failures = 0

    def _update(self) -> None:
        now = self._looks_like()
        if now > self.state:
            self.state = now
            self._successes = 0
        elif now < self.state and self._successes >= self._settings.healthy_successes:
            self.state = now

    def _looks_like(self) -> PipeState:
        settings = self._settings
        if self.failures >= settings.unhealthy_failures or self._lag_ms > settings.unhealthy_lag_ms:
            return PipeState.UNHEALTHY
        if self.failures >= settings.degraded_failures or self._lag_ms > settings.degraded_lag_ms:
            return PipeState.DEGRADED
        return PipeState.HEALTHY
