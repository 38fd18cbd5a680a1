"""How much clients may make the broker hold, and who has to wait when it is too much.

Two things take memory on behalf of a connection: requests that wait for an earlier one, and answers the client has
not read. Each connection has its own bounds; here is the one over all of them. A connection that is over a bound
stops reading from its socket, so that TCP carries the pressure back to the client: backpressure, not growth.
"""

from __future__ import annotations

from collections.abc import Callable


class FlowControl:
    """Bytes held for all connections together."""

    __slots__ = ("_waiting", "held_bytes", "held_bytes_max")

    def __init__(self, held_bytes_max: int) -> None:
        self.held_bytes = 0
        self.held_bytes_max = held_bytes_max
        self._waiting: list[Callable[[], None]] = []

    @property
    def exhausted(self) -> bool:
        return self.held_bytes > self.held_bytes_max

    def change(self, delta: int) -> None:
        """Bytes were taken (positive) or given back; whoever waits for room is woken below the bound."""
        self.held_bytes += delta
        if delta < 0 and self._waiting and not self.exhausted:
            waiting, self._waiting = self._waiting, []
            for resume in waiting:
                resume()

    def wait_for_room(self, resume: Callable[[], None]) -> None:
        self._waiting.append(resume)
