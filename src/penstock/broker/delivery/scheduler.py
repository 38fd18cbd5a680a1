"""Subscriptions with something to do, a little at a time: everybody else on the loop gets a turn in between."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from penstock.runtime.turns import STEP_NS

log = logging.getLogger(__name__)


class Pumped(Protocol):
    is_pump_due: bool

    def pump(self) -> bool:
        """Do something; True if there is more to do."""
        ...


class Pumps:
    """One queue for all subscriptions of a node."""

    def __init__(
        self, call_soon: Callable[[Callable[[], None]], object], after_turn: Callable[[], None] = lambda: None
    ) -> None:
        self._call_soon = call_soon
        self._after_turn = after_turn
        self._due: deque[Pumped] = deque()
        self._is_called = False

    def add(self, pumped: Pumped) -> None:
        if pumped.is_pump_due:
            return
        pumped.is_pump_due = True
        self._due.append(pumped)
        if not self._is_called:
            self._is_called = True
            self._call_soon(self._run)

    def run_now(self) -> None:
        """A turn out of turn: something was committed, and whoever waits for it need not wait for the loop as well."""
        if self._due:
            self._turn()

    def _run(self) -> None:
        self._is_called = False
        self._turn()

    def _turn(self) -> None:
        end = time.perf_counter_ns() + STEP_NS
        # Those that come meanwhile have their turn in the next one.
        for _ in range(len(self._due)):
            pumped = self._due.popleft()
            pumped.is_pump_due = False
            try:
                if pumped.pump():
                    self.add(pumped)
            except Exception:  # a bug in one subscription must not stop all others
                log.exception("a subscription could not go on")
            if time.perf_counter_ns() > end:
                break
        self._after_turn()
        if self._due and not self._is_called:
            self._is_called = True
            self._call_soon(self._run)
