"""One subscription's core: who gets which message, what is done, what comes again and when.

It has no clock, no log and no socket. Whoever drives it brings messages that were read (`dealing`, `redelivery`),
answers of members (`answers`), and the time (`tick`), and takes away what members are to be sent (`Member.outgoing`),
messages for the dead-letter topic and positions to be stored (`take_positions`). A simulation drives it with crashes
and time as inputs (tests/unit/broker/delivery/test_core_simulation.py).

Its parts are called by name, and not through methods here: nothing stands in between on a message's way.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.broker.delivery.core.acks import Answers
from penstock.broker.delivery.core.counters import Tally
from penstock.broker.delivery.core.dispatch import Dealing
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.partition_cursor import Progress
from penstock.broker.delivery.core.poison import Suspects
from penstock.broker.delivery.core.position import Position
from penstock.broker.delivery.core.redelivery import Redelivery
from penstock.broker.delivery.core.refresh import Refresh
from penstock.broker.delivery.core.refreshing import Refreshing
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.delivery.core.state import State


class Core:
    """One subscription with its members."""

    __slots__ = ("answers", "dealing", "members", "progress", "redelivery", "refreshing", "state", "suspects")

    def __init__(
        self,
        rules: Rules,
        positions: Mapping[int, Position],
        *,
        by_key: bool = False,
        refresh: Refresh | None = None,
        tally: Tally | None = None,
    ) -> None:
        self.state = State(rules, positions, by_key=by_key, refresh=refresh, tally=tally or Tally())
        self.members = self.state.members
        self.progress = self.state.progress
        self.dealing = Dealing(self.state)
        self.redelivery = Redelivery(self.state, self.dealing)
        self.refreshing = Refreshing(self.state, self.dealing, self.redelivery)
        self.suspects = Suspects(self.state, self.dealing)
        self.answers = Answers(self.state, self.dealing, self.redelivery, self.refreshing)

    # --- members -----------------------------------------------------------------------------------------------------

    def join(self, member: Member, now_ms: int) -> None:
        self.members[member.member_id] = member
        self.state.owners.members_changed()
        self.dealing.has_room(member, now_ms)
        if self.suspects.must_look:
            self.suspects.look(now_ms)

    def leave(self, member: Member, now_ms: int) -> None:
        """What it has not answered for goes to others."""
        state = self.state
        if self.members.pop(member.member_id, None) is None:
            return
        member.is_paused = True
        state.turns.give_up(member)
        state.touched.pop(member, None)
        state.owners.members_changed()
        for flight in tuple(state.flights):
            if flight.member is member and flight.left:
                self.redelivery.give_back(flight, now_ms)
        self._take_waiting(member, now_ms)
        self.refreshing.rewind_if_idle(now_ms)

    @property
    def in_flight(self) -> int:
        return self.state.in_flight

    # --- time --------------------------------------------------------------------------------------------------------

    def tick(self, now_ms: int) -> None:
        """Messages whose members have taken too long are given back. To be called before messages are dealt."""
        state = self.state
        flights = state.flights
        late: set[Member] = set()
        keys: set[tuple[Member, int]] = set()
        while flights and (not flights[0].left or flights[0].deadline_ms <= now_ms):
            flight = flights.popleft()
            if flight.left and flight.member is not None:
                late.add(flight.member)
                if flight.slot >= 0:
                    keys.add((flight.member, flight.slot))
                self.redelivery.give_back(flight, now_ms)
        if keys:
            self._move_keys(keys, now_ms)
        for member in late:
            if state.rewind_to is not None:
                state.evicted.append(member)
            self.dealing.has_room(member, now_ms)
        if state.rewind_to is not None:
            self.refreshing.rewind_if_idle(now_ms)
        if self.suspects.must_look:
            self.suspects.look(now_ms)

    def _move_keys(self, keys: set[tuple[Member, int]], now_ms: int) -> None:
        """Everything of a key goes with the message that was not answered in time, or the key would be at two members;
        and to somebody else, or a member that is stuck would have it until it is dead.
        """
        for flight in tuple(self.state.flights):
            if flight.left and flight.member is not None and (flight.member, flight.slot) in keys:
                self.redelivery.give_back(flight, now_ms)
        for member, slot in keys:
            self._take_waiting(member, now_ms, slot)
            self.state.owners.avoid(slot, member, self.members.values())

    def _take_waiting(self, member: Member, now_ms: int, slot: int | None = None) -> None:
        """What waits for room at a member, of one key or all, is given back."""
        kept = []
        for waiting in member.waiting:
            if slot is not None and waiting.flight.slot != slot:
                kept.append(waiting)
                continue
            self.state.waiting_count -= 1
            if self.progress[waiting.flight.partition].unacked.get(waiting.offset) is waiting.flight:
                self.redelivery.give_back_one(waiting.flight, waiting.offset, now_ms)
        member.waiting.clear()
        member.waiting.extend(kept)

    def next_wake_ms(self) -> int | None:
        state = self.state
        deadline_ms = state.flights[0].deadline_ms if state.flights else None
        # While a refresh waits for what is in flight nothing is sent again, however long it has been due.
        again_ms = self.redelivery.next_ms if state.turns and state.rewind_to is None else None
        if deadline_ms is None or again_ms is None:
            return again_ms if deadline_ms is None else deadline_ms
        return min(deadline_ms, again_ms)

    # --- positions ---------------------------------------------------------------------------------------------------

    def add_partition(self, partition: int, position: Position) -> None:
        self.progress.setdefault(partition, Progress(partition, position))
        if self.state.rewind_to is not None:
            self.state.rewind_to.setdefault(partition, position.offset)

    def passed(self, partition: int, offset: int) -> None:
        """Nothing below is left to be sent for the first time."""
        progress = self.progress[partition]
        if offset > progress.next_offset:
            progress.passed(offset)
            self.state.dirty.add(partition)

    def take_positions(self) -> dict[int, Position]:
        """Those that may have changed since the last call."""
        dirty = tuple(self.state.dirty)
        self.state.dirty.clear()
        starts = self.state.rewind_to
        if starts is not None:
            return {partition: Position(starts[partition]) for partition in dirty if partition in starts}
        return {partition: self.progress[partition].position() for partition in dirty if partition in self.progress}
