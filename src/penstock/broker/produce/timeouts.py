"""Produce requests that wait to be acknowledged, answered when their `timeout_ms` is over.

Kafka waits that long for the followers. One node waits for its disk, which takes a millisecond or so; a request that
waits for a disk that hangs is answered REQUEST_TIMED_OUT. As in Kafka its records may be stored all the same.

No request has a timer of its own: its deadline is noted when it begins to wait and forgotten when it is acknowledged,
and a sweep a few times a second looks at those that are left.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.runtime.clock import Clock

LEAST_MS: Final = 1_000
"""A client that allows less, such as 0, does not mean that an ordinary sync is too slow for it."""
SWEEP_INTERVAL_MS: Final = 250


class Waiting(Protocol):
    """A produce request that is not acknowledged yet."""

    def time_out(self) -> None:
        """Answer REQUEST_TIMED_OUT for what is not acknowledged, and forget the waiters."""


class ProduceTimeouts:
    """Everything happens on the event loop."""

    __slots__ = ("deadlines_ms", "now_ms")

    def __init__(self, clock: Clock) -> None:
        self.now_ms = clock.monotonic_ms
        self.deadlines_ms: dict[Waiting, int] = {}
        """A request puts itself in when it begins to wait, with LEAST_MS at least, and takes itself out when it is
        answered. There is no method for either: a call costs more than the entry."""

    def __len__(self) -> int:
        return len(self.deadlines_ms)

    async def sweep(self) -> None:
        """Answer the requests whose time is over."""
        if not self.deadlines_ms:
            return
        now_ms = self.now_ms()
        for waiting in [each for each, deadline_ms in self.deadlines_ms.items() if deadline_ms <= now_ms]:
            del self.deadlines_ms[waiting]
            waiting.time_out()
