"""The share of logins in a turn of the event loop: a few steps, or a little time, then others have theirs.

A step of SCRAM takes a quarter of a millisecond with its answer, with a long name more. When a crowd of clients comes
back at once, all of their steps would be served in one turn, for which everybody else waits.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from penstock.model.limits import TURN_NS

STEPS_PER_TURN: Final = 8


class LoginTurns:
    """One for a node. Steps wait in the order in which they came. `clock` counts nanoseconds.

    A step that is let in is done before the next one asks, so that its time is seen then. The first of a turn is let in
    whatever others have taken.
    """

    def __init__(self, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock = clock
        self._left = STEPS_PER_TURN
        self._end: int | None = None  # of the time of this turn, once its first step was let in
        self._is_counting = False  # `_next_turn` is scheduled
        self._late: deque[asyncio.Future[None]] = deque()  # they were to have a turn, whose time was over before
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        """Steps that wait."""
        return len(self._late) + len(self._waiting)

    async def take(self) -> None:
        """Return when the step may be done: at once, unless there are many."""
        if not self._is_counting:
            self._is_counting = True
            asyncio.get_running_loop().call_soon(self._next_turn)
        if self._left and not len(self) and self._has_time():
            self._left -= 1
            return
        await self._wait(self._waiting)
        while not self._has_time():
            await self._wait(self._late)

    async def _wait(self, line: deque[asyncio.Future[None]]) -> None:
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        await turn

    def _has_time(self) -> bool:
        now = self._clock()
        if self._end is None:
            self._end = now + TURN_NS
        return now < self._end

    def _next_turn(self) -> None:
        self._left = STEPS_PER_TURN
        self._end = None
        self._is_counting = len(self) > 0
        while self._left and len(self):
            turn = (self._late or self._waiting).popleft()
            if not turn.done():  # else its client has gone
                turn.set_result(None)
                self._left -= 1
        if self._is_counting:
            asyncio.get_running_loop().call_soon(self._next_turn)
