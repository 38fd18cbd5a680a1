"""The recent rate of a client, and the wait until the average is within a limit again.

The arithmetic is Kafka's: use is summed in samples of a second, and the rate is the sum over the eleven
samples of the window (`quota.window.num`, `quota.window.size.seconds`) divided by the time since the oldest of them
began, at least ten seconds. So a client that was quiet may be ten seconds' worth ahead at once.

Time is an argument, in milliseconds of a clock that never goes back.
"""

from __future__ import annotations

import math
from typing import Final

SAMPLES: Final = 11
SAMPLE_MS: Final = 1000
WINDOW_MS: Final = SAMPLES * SAMPLE_MS
THROTTLE_MS_MAX: Final = 0x7FFFFFFF


class _Sample:
    __slots__ = ("last_ms", "started_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.started_ms = self.last_ms = now_ms
        self.value = 0.0


class Rate:
    """One client's use of one thing, and its limit per second."""

    __slots__ = ("_current", "_samples", "limit")

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._samples: list[_Sample] = []
        self._current = 0

    def charge(self, value: float, now_ms: int) -> int:
        """Add an amount; returns the milliseconds to wait, 0 within the limit."""
        self.add(value, now_ms)
        return self.wait_ms(now_ms)

    def add(self, value: float, now_ms: int) -> None:
        """Add an amount; a negative one takes back an addition of the same moment."""
        sample = self._sample(now_ms)
        sample.value += value
        sample.last_ms = now_ms

    def wait_ms(self, now_ms: int) -> int:
        """The time X after which the same sum over a window longer by X is the limit."""
        span_ms = self._span_ms(now_ms)
        rate = sum(sample.value for sample in self._samples) * 1000 / span_ms
        if rate <= self.limit:
            return 0
        return rounded_ms((rate - self.limit) / self.limit * span_ms)

    def is_idle(self, now_ms: int) -> bool:
        """Whether the window is empty: a new meter would measure the same."""
        return all(now_ms - sample.last_ms >= WINDOW_MS for sample in self._samples)

    def _sample(self, now_ms: int) -> _Sample:
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.started_ms < SAMPLE_MS:
            return sample
        # One more than the window has: the oldest overlaps its beginning.
        self._current = (self._current + 1) % (SAMPLES + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def _span_ms(self, now_ms: int) -> int:
        for sample in self._samples:
            if now_ms - sample.last_ms >= WINDOW_MS:
                sample.reset(now_ms)
        elapsed_ms = now_ms - min((sample.started_ms for sample in self._samples), default=now_ms)
        missing = SAMPLES - 1 - elapsed_ms // SAMPLE_MS
        return elapsed_ms + max(0, missing) * SAMPLE_MS


def rounded_ms(value: float) -> int:
    """Round as Java does, up to the largest throttle time of an answer."""
    return math.floor(min(value, THROTTLE_MS_MAX - 1) + 0.5)
