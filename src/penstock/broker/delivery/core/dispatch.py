"""Who gets which message.

Turns are strict: a message goes to the member that has waited longest among those with room, or by its key.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.broker.delivery.core.key_owners import slot_of
from penstock.broker.delivery.core.member import Flight, Member, Waiting
from penstock.broker.delivery.core.state import State
from penstock.protocol.push.data import with_delivery_count

WAITING_MAX = 1000
"""Messages of keys whose member has no credit, before the keys behind them have to wait, too."""
OUTGOING_BYTES_MAX = 256 * 1024
"""What a member is dealt at once; the rest waits until its connection has taken that."""


class Dealing:
    """Puts messages into `Member.outgoing` and notes that they are in flight."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    def can_deal(self) -> bool:
        state = self._state
        if state.rewind_to is not None:
            return False
        turns = state.turns
        if turns and turns[0].room <= 0:
            turns.drop_full()
        if state.by_key and state.waiting_count >= WAITING_MAX:
            return False
        return bool(turns)

    def may_deal_new(self, partition: int) -> bool:
        return self._state.progress[partition].done_range_count < self._state.rules.done_ranges_max

    def has_room(self, member: Member, now_ms: int) -> None:
        """It may have something new: it joined, answered, or its connection has sent what it had."""
        state = self._state
        while member.waiting and member.room > 0 and state.rewind_to is None:
            flight, offset, item = member.waiting.popleft()
            state.waiting_count -= 1
            if state.progress[flight.partition].unacked.get(offset) is flight:
                self._send(member, flight, offset, item, now_ms + state.rules.ack_timeout_ms)
        if member.room > 0 and not member.is_queued and member.member_id in state.members:
            state.turns.queue_up(member)

    # --- new messages ------------------------------------------------------------------------------------------------

    def deal(
        self, partition: int, offsets: Sequence[int], items: Sequence[bytes], keys: Sequence[bytes | None], now_ms: int
    ) -> int:
        """New messages of a partition, in their order; how many of them have found a member."""
        if not self.can_deal():
            return 0
        if self._state.by_key or self._state.progress[partition].counted_ahead:
            return self._deal_singly(partition, offsets, items, keys, now_ms)
        if len(self._state.members) == 1:
            return self._deal_to_one(self._state.turns[0], partition, offsets, items, now_ms)
        return self._deal_in_turn(partition, offsets, items, now_ms)

    def _deal_to_one(
        self, member: Member, partition: int, offsets: Sequence[int], items: Sequence[bytes], now_ms: int
    ) -> int:
        taken = min(member.room, len(offsets))
        dealt, size = items[:taken], member.outgoing_bytes
        for index, item in enumerate(dealt):
            size += len(item)
            if size > OUTGOING_BYTES_MAX and index:
                taken, dealt = index, dealt[:index]
                size -= len(item)
                break
        sent = list(offsets[:taken])
        self._state.progress[partition].sent(sent, self._fly(member, partition, sent, now_ms))
        member.outgoing += dealt
        member.outgoing_bytes = size
        return taken

    def _deal_in_turn(self, partition: int, offsets: Sequence[int], items: Sequence[bytes], now_ms: int) -> int:
        taken = 0
        by_member: dict[Member, list[int]] = {}
        following = self._state.turns.next
        for offset, item in zip(offsets, items, strict=True):
            member = following()
            if member is None:
                break
            by_member.setdefault(member, []).append(offset)
            member.outgoing.append(item)
            member.outgoing_bytes += len(item)
            member.in_flight += 1
            taken += 1
            if member.outgoing_bytes > OUTGOING_BYTES_MAX:
                break
        progress = self._state.progress[partition]
        owners: dict[int, Flight] = {}
        for member, dealt in by_member.items():
            member.in_flight -= len(dealt)
            flight = self._fly(member, partition, dealt, now_ms)
            owners.update(dict.fromkeys(dealt, flight))
        for offset in offsets[:taken]:
            progress.unacked[offset] = owners[offset]
        if taken:
            progress.passed(offsets[taken - 1] + 1)
        return taken

    def _deal_singly(
        self, partition: int, offsets: Sequence[int], items: Sequence[bytes], keys: Sequence[bytes | None], now_ms: int
    ) -> int:
        """By their keys, or with what is known of earlier deliveries."""
        progress, taken = self._state.progress[partition], 0
        for offset, item, key in zip(offsets, items, keys, strict=True):
            count = progress.count_ahead(offset)
            flight = Flight(None, (), partition, [offset], count, now_ms, losses=count)
            if count >= self._state.rules.losses_max:
                self._state.suspects.append((partition, offset))
            if count >= self._state.rules.deliveries_max:
                progress.unacked[offset] = flight
                self._state.dead[partition, offset] = count
            elif not self.place(flight, offset, item, key, now_ms):
                break
            progress.passed(offset + 1)
            taken += 1
        return taken

    def _fly(self, member: Member, partition: int, offsets: list[int], now_ms: int) -> Flight:
        state = self._state
        flight = Flight(member, (), partition, offsets, 1, now_ms + state.rules.ack_timeout_ms)
        state.flights.append(flight)
        member.in_flight += len(offsets)
        state.touched[member] = None
        state.tally.delivered += len(offsets)
        return flight

    # --- single messages ---------------------------------------------------------------------------------------------

    def place(self, flight: Flight, offset: int, item: bytes, key: bytes | None, now_ms: int) -> bool:
        """A message that goes by its key, or comes again: to the member of its key or to the next one."""
        state = self._state
        if state.by_key and key is not None:
            flight.slot = slot_of(key)
            if not state.members or state.waiting_count >= WAITING_MAX:
                return False
            owner = state.owners.owner(flight.slot, state.members.values())
            state.owners.took(flight.slot, owner)
            if owner.room <= 0 or owner.waiting or owner.outgoing_bytes > OUTGOING_BYTES_MAX:
                state.progress[flight.partition].unacked[offset] = flight
                owner.waiting.append(Waiting(flight, offset, item))
                state.waiting_count += 1
                return True
        else:
            following = state.turns.next(other_than=flight.previous[-1] if flight.previous else None)
            if following is None:
                return False
            owner = following
        self._send(owner, flight, offset, item, now_ms + state.rules.ack_timeout_ms)
        return True

    def _send(self, member: Member, before: Flight, offset: int, item: bytes, deadline_ms: int) -> None:
        state = self._state
        count = before.count + 1
        flight = Flight(
            member, before.previous, before.partition, [offset], count, deadline_ms, before.slot, before.losses
        )
        state.flights.append(flight)
        progress = state.progress[before.partition]
        progress.unacked[offset] = flight
        if count > 1:
            progress.has_counts = True
            state.dirty.add(before.partition)
        member.in_flight += 1
        member.outgoing.append(item if count == 1 else with_delivery_count(item, count))
        member.outgoing_bytes += len(item)
        state.touched[member] = None
        state.tally.delivered += 1
        state.tally.redelivered += count > 1
