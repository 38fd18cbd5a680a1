"""Connections with answers that became ready, so that each sends all of its answers at once.

A flush round completes many answers, often several of one connection; a system call for each of them would cost more
than everything else the broker does with a small request. Whoever completed them calls `send` when it is through;
if nobody does, the loop does so on its next turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Protocol

logger = logging.getLogger(__name__)

_READERS_FIRST_MAX: Final = 8
"""A round answers writers, then those who wait for what was written. Each send wakes a process, so where a few are
ready the readers' go first: they hear of it sooner by what the others' would take."""


class Sender(Protocol):
    def send_ready(self) -> None: ...


class Outbox:
    """One for all connections of a node."""

    __slots__ = ("_call_soon", "_ready")

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._ready: list[Sender] = []

    def put(self, sender: Sender) -> None:
        """Once until the next `send`."""
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
                except Exception:  # one connection's trouble must not keep the others waiting
                    logger.exception("answers were not sent")
