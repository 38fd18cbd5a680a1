"""Scheduler of subscriptions on the event loop: a little work at a time, so that other work runs in between."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

from penstock.model.limits import TURN_NS

logger = logging.getLogger(__name__)


class Turn:
    """Work that asks for turns: `request` is cheap and may be called any number of times before the next one.

    `work` does a bounded amount, and returns True if there is more to do. `add` is for callers that do what `request`
    does by themselves, because a call costs more.
    """

    __slots__ = ("add", "is_due", "work")

    def __init__(self, work: Callable[[], bool], add: Callable[[Turn], None]) -> None:
        self.work = work
        self.add = add
        self.is_due = False

    def request(self) -> None:
        if not self.is_due:
            self.is_due = True
            self.add(self)

    def cancel(self) -> None:
        """Do nothing in later turns. Nothing refers to the work's owner afterwards, so that it is freed without a
        collection of cyclic garbage.
        """
        self.work = _nothing


def _nothing() -> bool:
    return False


class Scheduler:
    """One queue for all subscriptions of a node. `after_turn` is called when some of them have worked."""

    def __init__(
        self, call_soon: Callable[[Callable[[], None]], object], after_turn: Callable[[], None] = lambda: None
    ) -> None:
        self._call_soon = call_soon
        self._after_turn = after_turn
        self._due: deque[Turn] = deque()
        self._is_called = False

    def turn(self, work: Callable[[], bool]) -> Turn:
        return Turn(work, self._add)

    def _add(self, turn: Turn) -> None:
        self._due.append(turn)
        if not self._is_called:
            self._is_called = True
            self._call_soon(self._run)

    def end_round(self) -> None:
        """Run due turns at the end of a flush round instead of in the loop's next iteration: committed messages go out
        without that wait. Then send answers, with or without messages.
        """
        if self._due:
            self._run_due()
        else:
            self._after_turn()

    def _run(self) -> None:
        self._is_called = False
        self._run_due()

    def _run_due(self) -> None:
        end = time.perf_counter_ns() + TURN_NS
        # Turns that are requested meanwhile run in the next round.
        for _ in range(len(self._due)):
            turn = self._due.popleft()
            turn.is_due = False
            try:
                if turn.work():
                    turn.request()
            except Exception:  # a bug in one subscription must not stop all others
                logger.exception("a subscription could not go on")
            if time.perf_counter_ns() > end:
                break
        self._after_turn()
        if self._due and not self._is_called:
            self._is_called = True
            self._call_soon(self._run)
