"""What comes again and when, and what has come too often."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from penstock.broker.delivery.core.dispatch import Dealing
from penstock.broker.delivery.core.member import Flight
from penstock.broker.delivery.core.state import State


class Dead(NamedTuple):
    """A message that was sent too often."""

    partition: int
    offset: int
    deliveries: int


class Redelivery:
    """Messages that were given back. Whoever drives it reads them and brings them (`due`, `deal_again`), or takes them
    to the dead-letter topic (`dead`, `buried`).
    """

    __slots__ = ("_dealing", "_returned", "_state")

    def __init__(self, state: State, dealing: Dealing) -> None:
        self._state = state
        self._dealing = dealing
        self._returned: list[tuple[int, int, int]] = []  # when, partition, offset: a heap

    def due(self, now_ms: int, limit: int) -> list[tuple[int, int]]:
        """Partition and offset of messages to be sent again, for which somebody has room; each to be brought by
        `deal_again`, or by `gone` if it is no more.
        """
        found: list[tuple[int, int]] = []
        returned = self._returned
        if self._state.suspects:
            limit = min(limit, len(self._state.turns))  # one for each
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
        """It has expired, or is not in the log any more: that is done."""
        progress = self._state.progress.get(partition)
        if progress is None:
            return
        flight = progress.unacked.get(offset)
        if flight is not None and flight.member is None:
            del progress.unacked[offset]
            self._state.dirty.add(partition)

    def later(self, partition: int, offset: int, due_ms: int) -> None:
        """It was due and could not be read."""
        heapq.heappush(self._returned, (due_ms, partition, offset))

    def dead(self) -> list[Dead]:
        """Messages for the dead-letter topic; each stays among them until it is told to `buried`.

        They are sent to nobody, for as long as that takes; but a late answer of somebody who had one counts.
        """
        dead = self._state.dead
        for place in [place for place, count in dead.items() if not self._is_dead(*place, count)]:
            del dead[place]
        return [Dead(partition, offset, count) for (partition, offset), count in dead.items()]

    def _is_dead(self, partition: int, offset: int, count: int) -> bool:
        progress = self._state.progress.get(partition)
        flight = None if progress is None else progress.unacked.get(offset)
        return flight is not None and flight.member is None and flight.count == count

    def buried(self, dead: Dead) -> None:
        """It is in the dead-letter topic, or has expired, or is not in the log any more: that is done."""
        if self._is_dead(*dead):
            self.gone(dead.partition, dead.offset)
        self._state.dead.pop((dead.partition, dead.offset), None)

    def give_back(self, flight: Flight, due_ms: int) -> None:
        """Everything of a flight that is not answered."""
        assert flight.member is not None
        unacked = self._state.progress[flight.partition].unacked
        for offset in flight.offsets:
            if unacked.get(offset) is flight:
                flight.member.in_flight -= 1
                self.give_back_one(flight, offset, due_ms, losses=1)
        flight.left = 0

    def give_back_one(self, flight: Flight, offset: int, due_ms: int, *, losses: int = 0) -> None:
        """`losses` is 1 if it was sent and nobody has answered."""
        state = self._state
        previous = flight.previous if flight.member is None else (*flight.previous, flight.member)
        losses += flight.losses
        back = Flight(None, previous, flight.partition, [offset], flight.count, due_ms, losses=losses)
        if losses >= state.rules.losses_max:
            state.suspects.append((flight.partition, offset))
        if flight.slot >= 0:
            state.owners.finished(flight.slot)
        progress = state.progress[flight.partition]
        progress.unacked[offset] = back
        if flight.count:
            progress.has_counts = True
            state.dirty.add(flight.partition)
        if flight.count >= state.rules.deliveries_max:
            state.dead[flight.partition, offset] = flight.count
        else:
            heapq.heappush(self._returned, (due_ms, flight.partition, offset))

    def clear(self) -> None:
        self._returned.clear()
        self._state.dead.clear()
