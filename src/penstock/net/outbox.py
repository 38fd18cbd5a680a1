"""Connections with answers that became ready, so that each sends all of its answers at once.

A flush round completes many answers, often several of one connection; a system call for each of them would cost more
than everything else the broker does with a small request. The code that completed them calls `send` at its end;
otherwise the loop does so on its next turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Protocol

logger = logging.getLogger(__name__)

_READERS_FIRST_MAX: Final = 8
"""A round answers writers first, then the readers that wait for their data. Each send wakes a process, so with at most
this many senders the order is reversed: readers get their data without waiting for the sends to the writers."""


class Sender(Protocol):
    def send_ready(self) -> None: ...


class Outbox:
    """The outbox of all connections of a node."""

    __slots__ = ("_call_soon", "_ready")

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._ready: list[Sender] = []

    def put(self, sender: Sender) -> None:
        """Add a sender, at most once before the next `send`."""
        if not self._ready:
            self._call_soon(self.send)
        self._ready.append(sender)

    def send(self) -> None:
        while self._ready:
            ready, self._ready = self._ready, []
            if len(ready) <= _READERS_FIRST_MAX:
                ready.reverse()
            for sender in ready:
                try:
                    sender.send_ready()
                except Exception:  # a failure of one connection must not hold up the others
                    logger.exception("answers were not sent")
