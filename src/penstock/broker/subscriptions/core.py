"""One subscription's core: who gets which message, what is done, what comes again and when.

It has no clock, no log and no socket. Whoever drives it brings messages that were read (`deal`, `deal_again`), answers
of members (`acknowledge`), and the time (`tick`), and takes away what members are to be sent (`Member.outgoing`),
messages for the dead-letter topic (`take_dead`) and positions to be stored (`positions`). A simulation drives it with
crashes and time as inputs (tests/unit/push/test_core_simulation.py).

Turns are strict: a message goes to the member that has waited longest among those with room.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from penstock.broker.subscriptions.key_owners import KeyOwners, slot_of
from penstock.broker.subscriptions.member import Flight, Member, Waiting
from penstock.broker.subscriptions.position import Position
from penstock.broker.subscriptions.progress import Progress
from penstock.broker.subscriptions.refresh import Refresh
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.data import AckRange, Verdict, with_delivery_count

WAITING_MAX = 1000
"""Messages of keys whose member has no credit, before the keys behind them have to wait, too."""
OUTGOING_BYTES_MAX = 256 * 1024
"""What a member is dealt at once; the rest waits until its connection has taken that."""
_FLIGHTS_KEPT = 64


class Rules(NamedTuple):
    ack_timeout_ms: int = 30_000
    redelivery_delay_ms: int = 100
    deliveries_max: int = 10
    done_ranges_max: int = 1_500
    """Ranges above the committed position that are stored with it; with more, nothing new is sent for a while."""


class Dead(NamedTuple):
    partition: int
    offset: int
    deliveries: int


class Tally:
    """What has happened, for the metrics."""

    __slots__ = ("acknowledged", "dead", "delivered", "expired", "redelivered")

    def __init__(self) -> None:
        self.delivered = self.redelivered = self.acknowledged = self.expired = self.dead = 0


class Core:
    """State of one subscription with its members."""

    def __init__(
        self,
        rules: Rules,
        positions: Mapping[int, Position],
        *,
        by_key: bool = False,
        refresh: Refresh | None = None,
        tally: Tally | None = None,
    ) -> None:
        self._rules = rules
        self._by_key = by_key
        self.members: dict[str, Member] = {}
        self.progress = {partition: Progress(partition, position) for partition, position in positions.items()}
        self.refresh = refresh
        self.tally = tally or Tally()
        self.dirty: set[int] = set()
        """Partitions whose position is not what was stored last."""
        self.touched: dict[Member, None] = {}
        """Members with something outgoing."""
        self.evicted: list[Member] = []
        """Members that must be disconnected: they have not answered, and a refresh waits for them."""
        self.rewinds = 0
        """Rises when everything that was read ahead is worthless."""
        self._rewind_to: dict[int, int] | None = None  # a refresh waits until nothing is in flight
        self._turns: deque[Member] = deque()
        self._flights: deque[Flight] = deque()
        self._flights_max = _FLIGHTS_KEPT
        self._returned: list[tuple[int, int, int]] = []  # when, partition, offset: a heap
        self._dead: list[Dead] = []
        self._owners = KeyOwners()
        self._waiting_count = 0

    # --- members -----------------------------------------------------------------------------------------------------

    def join(self, member: Member, now_ms: int) -> None:
        self.members[member.member_id] = member
        self._owners.members_changed()
        self.has_room(member, now_ms)

    def leave(self, member: Member, now_ms: int) -> None:
        """What it has not answered for goes to others."""
        if self.members.pop(member.member_id, None) is None:
            return
        member.is_paused = True
        if member.is_queued:
            self._turns.remove(member)
            member.is_queued = False
        self.touched.pop(member, None)
        self._owners.members_changed()
        for flight in tuple(self._flights):
            if flight.member is member and flight.left:
                self._give_back(flight, now_ms)
        for waiting in member.waiting:
            self._waiting_count -= 1
            if self.progress[waiting.flight.partition].unacked.get(waiting.offset) is waiting.flight:
                self._return(waiting.flight, waiting.offset, now_ms)
        member.waiting.clear()
        self._rewind_if_idle(now_ms)

    def has_room(self, member: Member, now_ms: int) -> None:
        """It may have something new: it joined, answered, or its connection has sent what it had."""
        while member.waiting and member.room > 0 and self._rewind_to is None:
            flight, offset, item = member.waiting.popleft()
            self._waiting_count -= 1
            if self.progress[flight.partition].unacked.get(offset) is flight:
                self._send(member, flight, offset, item, now_ms + self._rules.ack_timeout_ms)
        if member.room > 0 and not member.is_queued and member.member_id in self.members:
            member.is_queued = True
            self._turns.append(member)

    @property
    def can_deal(self) -> bool:
        if self._rewind_to is not None:
            return False
        turns = self._turns
        while turns and turns[0].room <= 0:
            turns.popleft().is_queued = False
        if self._by_key and self._waiting_count >= WAITING_MAX:
            return False
        return bool(turns)

    def may_deal_new(self, partition: int) -> bool:
        return self.progress[partition].done_range_count < self._rules.done_ranges_max

    # --- sending -----------------------------------------------------------------------------------------------------

    def deal(
        self, partition: int, offsets: Sequence[int], items: Sequence[bytes], keys: Sequence[bytes | None], now_ms: int
    ) -> int:
        """New messages of a partition, in their order; how many of them have found a member."""
        if not self.can_deal:
            return 0
        if self._by_key:
            return self._deal_by_key(partition, offsets, items, keys, now_ms)
        if len(self.members) == 1:
            return self._deal_to_one(self._turns[0], partition, offsets, items, now_ms)
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
        self._took(member, partition, list(offsets[:taken]), now_ms)
        member.outgoing += dealt
        member.outgoing_bytes = size
        return taken

    def _deal_in_turn(self, partition: int, offsets: Sequence[int], items: Sequence[bytes], now_ms: int) -> int:
        taken = 0
        by_member: dict[Member, list[int]] = {}
        for offset, item in zip(offsets, items, strict=True):
            member = self._next()
            if member is None:
                break
            by_member.setdefault(member, []).append(offset)
            member.outgoing.append(item)
            member.outgoing_bytes += len(item)
            member.in_flight += 1
            taken += 1
            if member.outgoing_bytes > OUTGOING_BYTES_MAX:
                break
        progress = self.progress[partition]
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

    def _next(self, other_than: Member | None = None) -> Member | None:
        """Whose turn it is; it goes to the end of the line."""
        turns = self._turns
        while turns and turns[0].room <= 0:
            turns.popleft().is_queued = False
        if not turns:
            return None
        if turns[0] is other_than and len(turns) > 1:
            turns.rotate(-1)
            while turns[0].room <= 0:
                turns.popleft().is_queued = False
        member = turns[0]
        turns.rotate(-1)
        return member

    def _took(self, member: Member, partition: int, offsets: list[int], now_ms: int) -> None:
        flight = self._fly(member, partition, offsets, now_ms)
        self.progress[partition].sent(offsets, flight)

    def _fly(self, member: Member, partition: int, offsets: list[int], now_ms: int) -> Flight:
        flight = Flight(member, (), partition, offsets, 1, now_ms + self._rules.ack_timeout_ms)
        self._flights.append(flight)
        member.in_flight += len(offsets)
        self.touched[member] = None
        self.tally.delivered += len(offsets)
        return flight

    def _deal_by_key(
        self, partition: int, offsets: Sequence[int], items: Sequence[bytes], keys: Sequence[bytes | None], now_ms: int
    ) -> int:
        progress, taken = self.progress[partition], 0
        for offset, item, key in zip(offsets, items, keys, strict=True):
            flight = Flight(None, (), partition, [offset], 0, now_ms)
            if not self._place(flight, offset, item, key, now_ms):
                break
            progress.passed(offset + 1)
            taken += 1
        return taken

    def _place(self, flight: Flight, offset: int, item: bytes, key: bytes | None, now_ms: int) -> bool:
        """A single message, to the member of its key or to the next one."""
        if self._by_key and key is not None:
            flight.slot = slot_of(key)
            if not self.members or self._waiting_count >= WAITING_MAX:
                return False
            owner = self._owners.owner(flight.slot, self.members.values())
            self._owners.took(flight.slot, owner)
            if owner.room <= 0 or owner.waiting or owner.outgoing_bytes > OUTGOING_BYTES_MAX:
                self.progress[flight.partition].unacked[offset] = flight
                owner.waiting.append(Waiting(flight, offset, item))
                self._waiting_count += 1
                return True
        else:
            following = self._next(other_than=flight.previous[-1] if flight.previous else None)
            if following is None:
                return False
            owner = following
        self._send(owner, flight, offset, item, now_ms + self._rules.ack_timeout_ms)
        return True

    def _send(self, member: Member, before: Flight, offset: int, item: bytes, deadline_ms: int) -> None:
        """One message that was sent before, or goes by its key."""
        count = before.count + 1
        flight = Flight(member, before.previous, before.partition, [offset], count, deadline_ms, before.slot)
        self._flights.append(flight)
        self.progress[before.partition].unacked[offset] = flight
        member.in_flight += 1
        member.outgoing.append(item if count == 1 else with_delivery_count(item, count))
        member.outgoing_bytes += len(item)
        self.touched[member] = None
        self.tally.delivered += 1
        self.tally.redelivered += count > 1

    # --- sending again -----------------------------------------------------------------------------------------------

    def due(self, now_ms: int, limit: int) -> list[tuple[int, int]]:
        """Partition and offset of messages to be sent again, for which somebody has room; each to be brought by
        `deal_again`, or by `gone` if it is no more.
        """
        found: list[tuple[int, int]] = []
        returned = self._returned
        while returned and returned[0][0] <= now_ms and len(found) < limit and self.can_deal:
            _, partition, offset = heapq.heappop(returned)
            flight = self.progress[partition].unacked.get(offset)
            if flight is not None and flight.member is None:
                found.append((partition, offset))
        return found

    def deal_again(self, partition: int, offset: int, item: bytes, key: bytes | None, now_ms: int) -> None:
        flight = self.progress[partition].unacked.get(offset) if partition in self.progress else None
        if flight is None or flight.member is not None:
            return  # answered meanwhile
        if not self.can_deal or not self._place(flight, offset, item, key, now_ms):
            heapq.heappush(self._returned, (now_ms, partition, offset))

    def gone(self, partition: int, offset: int) -> None:
        """It has expired, or is not in the log any more, or is in the dead-letter topic: that is done."""
        progress = self.progress.get(partition)
        if progress is None:
            return
        flight = progress.unacked.get(offset)
        if flight is not None and flight.member is None:
            del progress.unacked[offset]
            self.dirty.add(partition)

    def take_dead(self) -> list[Dead]:
        """Messages for the dead-letter topic; each is told to `gone` when it is there, or to `revive`."""
        dead, self._dead = self._dead, []
        return dead

    def revive(self, dead: Dead, due_ms: int) -> None:
        """The dead-letter topic could not take it: once more, then."""
        heapq.heappush(self._returned, (due_ms, dead.partition, dead.offset))

    def _give_back(self, flight: Flight, due_ms: int) -> None:
        """Everything of a flight that is not answered."""
        assert flight.member is not None
        unacked = self.progress[flight.partition].unacked
        for offset in flight.offsets:
            if unacked.get(offset) is flight:
                flight.member.in_flight -= 1
                self._return(flight, offset, due_ms)
        flight.left = 0

    def _return(self, flight: Flight, offset: int, due_ms: int) -> None:
        previous = flight.previous if flight.member is None else (*flight.previous, flight.member)
        back = Flight(None, previous, flight.partition, [offset], flight.count, due_ms)
        if flight.slot >= 0:
            self._owners.finished(flight.slot)
        self.progress[flight.partition].unacked[offset] = back
        if flight.count >= self._rules.deliveries_max:
            self._dead.append(Dead(flight.partition, offset, flight.count))
        else:
            heapq.heappush(self._returned, (due_ms, flight.partition, offset))

    # --- answers -----------------------------------------------------------------------------------------------------

    def acknowledge(self, member: Member, ranges: Iterable[AckRange], now_ms: int) -> None:
        """KafkaError if one of the messages was never sent; then nothing of it counts."""
        ranges = tuple(ranges)
        for partition, first, last, _ in ranges:
            progress = self.progress.get(partition)
            if progress is None or last >= progress.next_offset:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"offsets {first} to {last} of partition {partition} were not sent; acknowledge what came in DATA",
                )
        for partition, first, last, verdict in ranges:
            if verdict is Verdict.DONE:
                self._done(member, self.progress[partition], first, last, now_ms)
            else:
                self._not_done(member, self.progress[partition], first, last, now_ms)
        self._forget_finished()
        self.has_room(member, now_ms)
        self._rewind_if_idle(now_ms)

    def _done(self, member: Member, progress: Progress, first: int, last: int, now_ms: int) -> None:
        unacked, freed = progress.unacked, 0
        for offset in progress.within(first, last):
            flight = unacked[offset]
            if flight.member is member:
                freed += 1
            elif member not in flight.previous:
                continue
            elif flight.member is not None:  # it was too late, and somebody else has it
                flight.member.in_flight -= 1
                self.has_room(flight.member, now_ms)
            del unacked[offset]
            flight.left -= 1
            if flight.slot >= 0:
                self._owners.finished(flight.slot)
        member.in_flight -= freed
        self.tally.acknowledged += freed
        self.dirty.add(progress.partition)

    def _not_done(self, member: Member, progress: Progress, first: int, last: int, now_ms: int) -> None:
        due_ms = now_ms + self._rules.redelivery_delay_ms
        for offset in progress.within(first, last):
            flight = progress.unacked[offset]
            if flight.member is member:
                member.in_flight -= 1
                flight.left -= 1
                self._return(flight, offset, due_ms)

    def _forget_finished(self) -> None:
        flights = self._flights
        while flights and not flights[0].left:
            flights.popleft()
        if len(flights) > self._flights_max:  # those behind one that is not answered
            self._flights = deque(flight for flight in flights if flight.left)
            self._flights_max = _FLIGHTS_KEPT + 2 * len(self._flights)

    def commit(self, partition: int, offset: int, now_ms: int) -> None:
        """Set the position: everything below is done, delivery goes on from it."""
        old = self.progress[partition]
        self.dirty.add(partition)
        if offset >= old.committed:
            for below in [one for one in old.unacked if one < offset]:
                self._drop(old, below)
            old.passed(offset)
        else:
            for above in tuple(old.unacked):
                self._drop(old, above)
            self.progress[partition] = Progress(partition, Position(offset))
            self.rewinds += 1
        self._forget_finished()
        for member in tuple(self.members.values()):
            self.has_room(member, now_ms)

    def _drop(self, progress: Progress, offset: int) -> None:
        flight = progress.unacked.pop(offset)
        flight.left -= 1
        if flight.member is not None:
            flight.member.in_flight -= 1
        if flight.slot >= 0:
            self._owners.finished(flight.slot)

    # --- time --------------------------------------------------------------------------------------------------------

    def tick(self, now_ms: int) -> None:
        """Messages whose members have taken too long are given back."""
        flights = self._flights
        late: set[Member] = set()
        while flights and (not flights[0].left or flights[0].deadline_ms <= now_ms):
            flight = flights.popleft()
            if flight.left and flight.member is not None:
                late.add(flight.member)
                self._give_back(flight, now_ms)
        for member in late:
            if self._rewind_to is not None:
                self.evicted.append(member)
            self.has_room(member, now_ms)
        self._rewind_if_idle(now_ms)

    def next_wake_ms(self) -> int | None:
        times = []
        if self._flights:
            times.append(self._flights[0].deadline_ms)
        if self._returned and self._turns:
            times.append(self._returned[0][0])
        return min(times, default=None)

    @property
    def in_flight(self) -> int:
        return sum(member.in_flight for member in self.members.values())

    @property
    def remembers(self) -> bool:
        """Whether there are delivery counts that a position alone would not keep."""
        return any(progress.unacked for progress in self.progress.values())

    # --- refresh -----------------------------------------------------------------------------------------------------

    def begin_refresh(self, refresh: Refresh, starts: Mapping[int, int], now_ms: int) -> None:
        """Everything from `starts` once more, as soon as nothing is in flight."""
        self.refresh = refresh
        self._rewind_to = dict(starts)
        self.dirty.update(starts)
        for member in self.members.values():
            member.said_ready = False
        self._rewind_if_idle(now_ms)

    def _rewind_if_idle(self, now_ms: int) -> None:
        if self._rewind_to is None or self.in_flight:
            return
        starts, self._rewind_to = self._rewind_to, None
        self.progress = {partition: Progress(partition, Position(start)) for partition, start in starts.items()}
        self.dirty.update(starts)
        self.rewinds += 1
        self._flights.clear()
        self._returned.clear()
        self._dead.clear()
        self._owners = KeyOwners()
        self._waiting_count = 0
        for member in self.members.values():
            member.waiting.clear()
            member.reset_sent = False
            self.has_room(member, now_ms)

    @property
    def rewinding(self) -> bool:
        return self._rewind_to is not None

    def must_reset(self, member: Member) -> bool:
        """Whether a member has to be told of the refresh before anything else."""
        return self.refresh is not None and self._rewind_to is None and not member.reset_sent

    def ready(self, member: Member, refresh_id: int) -> None:
        """KafkaError unless that is the refresh under way and the member has done with it."""
        refresh = self.refresh
        if refresh is None or refresh.refresh_id != refresh_id or not member.reset_sent or self.rewinding:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"refresh {refresh_id} is not under way here")
        for partition, end in refresh.ends.items():
            progress = self.progress.get(partition)
            if progress is None:
                continue
            held = any(flight.member is member for offset, flight in progress.unacked.items() if offset < end)
            if held or progress.next_offset < end:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"messages below the end {end} of partition {partition} are not done; acknowledge them, then READY",
                )
        member.said_ready = True

    @property
    def is_refreshed(self) -> bool:
        """Everybody is ready, and everything below the ends is done."""
        if self.refresh is None or self.rewinding or not self.members:
            return False
        if not all(member.said_ready for member in self.members.values()):
            return False
        ends = self.refresh.ends.items()
        return all(self.progress[partition].committed >= end for partition, end in ends if partition in self.progress)

    # --- positions ---------------------------------------------------------------------------------------------------

    def add_partition(self, partition: int, position: Position) -> None:
        self.progress.setdefault(partition, Progress(partition, position))
        if self._rewind_to is not None:
            self._rewind_to.setdefault(partition, position.offset)

    def passed(self, partition: int, offset: int) -> None:
        """Nothing below is left to be sent for the first time."""
        progress = self.progress[partition]
        if offset > progress.next_offset:
            progress.passed(offset)
            self.dirty.add(partition)

    def take_positions(self) -> dict[int, Position]:
        """Those that may have changed since the last call."""
        dirty, self.dirty = self.dirty, set()
        if self._rewind_to is not None:
            return {
                partition: Position(self._rewind_to[partition]) for partition in dirty if partition in self._rewind_to
            }
        return {partition: self.progress[partition].position() for partition in dirty if partition in self.progress}
