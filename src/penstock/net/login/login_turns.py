"""The share of logins in a turn of the event loop: a few steps, then others have theirs.

A step of SCRAM takes a quarter of a millisecond with its answer. When a crowd of clients comes back at once, all of
their steps would be served in one turn, for which everybody else waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

STEPS_PER_TURN: Final = 8


class LoginTurns:
    """One for a node. Steps wait in the order in which they came."""

    def __init__(self) -> None:
        self._left = STEPS_PER_TURN
        self._is_counting = False  # `_next_turn` is scheduled
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        """Steps that wait."""
        return len(self._waiting)

    async def take(self) -> None:
        """Return when the step may be done: at once, unless there are many."""
        loop = asyncio.get_running_loop()
        if not self._is_counting:
            self._is_counting = True
            loop.call_soon(self._next_turn)
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next_turn(self) -> None:
        self._left = STEPS_PER_TURN
        self._is_counting = bool(self._waiting)
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # else its client has gone
                turn.set_result(None)
                self._left -= 1
        if self._is_counting:
            asyncio.get_running_loop().call_soon(self._next_turn)
