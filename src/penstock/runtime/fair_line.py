"""A line in front of a few places, in which owners take turns: one with much work does not hold up the others."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque


class FairLine:
    """Belongs to the event loop's thread."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def enter(self, owner: str) -> None:
        """Wait for a place, and take it until `leave`."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it had its turn at the same moment
                self.leave()
            raise

    def leave(self) -> None:
        """Give a place to the next owner, who then waits behind all others; those that have gone are passed over."""
        while self._waiting:
            owner, turns = self._waiting.popitem(last=False)
            while turns and turns[0].done():
                turns.popleft()
            if not turns:
                continue
            turn = turns.popleft()
            if turns:
                self._waiting[owner] = turns
            turn.set_result(None)
            return
        self._free += 1
