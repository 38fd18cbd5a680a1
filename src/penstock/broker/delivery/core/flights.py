"""Everything that was sent and not answered, in the order of its deadlines."""

from __future__ import annotations

from collections import deque

from penstock.broker.delivery.core.member import Flight

_KEPT = 64


class Flights(deque[Flight]):
    """Flights that are answered leave when they are first, or when there are too many behind one that is not."""

    __slots__ = ("_most",)

    def __init__(self) -> None:
        super().__init__()
        self._most = _KEPT

    def forget_finished(self) -> None:
        while self and not self[0].left:
            self.popleft()
        if len(self) > self._most:
            unfinished = [flight for flight in self if flight.left]
            self.clear()
            self.extend(unfinished)
            self._most = _KEPT + 2 * len(unfinished)
