"""A bucket of tokens: fills at the limit per second up to eleven seconds' worth, and may be overdrawn.

Kafka's measure for changes of topics (KIP-599), of which one request may hold many: an average over samples would
keep a client out for the whole window after a burst. The bucket is full at first.
"""

from __future__ import annotations

from penstock.broker.quotas.rate import SAMPLES, rounded_ms


class Bucket:
    """One client's tokens."""

    __slots__ = ("_tokens", "_updated_ms", "limit")

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._tokens: float | None = None  # full
        self._updated_ms = 0

    def take(self, tokens: float, now_ms: int) -> None:
        """Take tokens, even more than there are."""
        self._tokens = self._filled(now_ms) - tokens
        self._updated_ms = now_ms

    def wait_ms(self, now_ms: int) -> int:
        """The time until the bucket is not overdrawn, 0 if it is not."""
        tokens = self._filled(now_ms)
        return 0 if tokens >= 0 else rounded_ms(-tokens / self.limit * 1000)

    def is_idle(self, now_ms: int) -> bool:
        """Whether the bucket is full again: as good as a new one."""
        return self._filled(now_ms) >= SAMPLES * self.limit

    def _filled(self, now_ms: int) -> float:
        full = SAMPLES * self.limit
        if self._tokens is None:
            return full
        return min(full, self._tokens + self.limit * (now_ms - self._updated_ms) / 1000)
