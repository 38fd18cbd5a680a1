"""What comes again and when, and what has come too often."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from penstock.broker.subscriptions.dealing import Dealing
from penstock.broker.subscriptions.member import Flight
from penstock.broker.subscriptions.state import State


class Dead(NamedTuple):
    partition: int
    offset: int
    deliveries: int


class Redelivery:
    """Messages that were given back. Whoever drives it reads them and brings them (`due`, `deal_again`), or takes them
    to the dead-letter topic (`take_dead`).
    """

    __slots__ = ("_dead", "_dealing", "_returned", "_state")

    def __init__(self, state: State, dealing: Dealing) -> None:
        self._state = state
        self._dealing = dealing
        self._returned: list[tuple[int, int, int]] = []  # when, partition, offset: a heap
        self._dead: list[Dead] = []

    def due(self, now_ms: int, limit: int) -> list[tuple[int, int]]:
        """Partition and offset of messages to be sent again, for which somebody has room; each to be brought by
        `deal_again`, or by `gone` if it is no more.
        """
        found: list[tuple[int, int]] = []
        returned = self._returned
        while returned and returned[0][0] <= now_ms and len(found) < limit and self._dealing.can_deal():
            _, partition, offset = heapq.heappop(returned)
            flight = self._state.progress[partition].unacked.get(offset)
            if flight is not None and flight.member is None:
                found.append((partition, offset))
        return found

    @property
    def next_ms(self) -> int | None:
        return self._returned[0][0] if self._returned else None

    def deal_again(self, partition: int, offset: int, item: bytes, key: bytes | None, now_ms: int) -> None:
        progress = self._state.progress.get(partition)
        flight = None if progress is None else progress.unacked.get(offset)
        if flight is None or flight.member is not None:
            return  # answered meanwhile
        if not self._dealing.can_deal() or not self._dealing.place(flight, offset, item, key, now_ms):
            heapq.heappush(self._returned, (now_ms, partition, offset))

    def gone(self, partition: int, offset: int) -> None:
        """It has expired, or is not in the log any more, or is in the dead-letter topic: that is done."""
        progress = self._state.progress.get(partition)
        if progress is None:
            return
        flight = progress.unacked.get(offset)
        if flight is not None and flight.member is None:
            del progress.unacked[offset]
            self._state.dirty.add(partition)

    def take_dead(self) -> list[Dead]:
        """Messages for the dead-letter topic; each is told to `gone` when it is there, or to `revive`."""
        dead, self._dead = self._dead, []
        return dead

    def revive(self, dead: Dead, due_ms: int) -> None:
        """The dead-letter topic could not take it: once more, then."""
        heapq.heappush(self._returned, (due_ms, dead.partition, dead.offset))

    def give_back(self, flight: Flight, due_ms: int) -> None:
        """Everything of a flight that is not answered."""
        assert flight.member is not None
        unacked = self._state.progress[flight.partition].unacked
        for offset in flight.offsets:
            if unacked.get(offset) is flight:
                flight.member.in_flight -= 1
                self.give_back_one(flight, offset, due_ms)
        flight.left = 0

    def give_back_one(self, flight: Flight, offset: int, due_ms: int) -> None:
        state = self._state
        previous = flight.previous if flight.member is None else (*flight.previous, flight.member)
        back = Flight(None, previous, flight.partition, [offset], flight.count, due_ms)
        if flight.slot >= 0:
            state.owners.finished(flight.slot)
        state.progress[flight.partition].unacked[offset] = back
        if flight.count >= state.rules.deliveries_max:
            self._dead.append(Dead(flight.partition, offset, flight.count))
        else:
            heapq.heappush(self._returned, (due_ms, flight.partition, offset))

    def clear(self) -> None:
        self._returned.clear()
        self._dead.clear()
