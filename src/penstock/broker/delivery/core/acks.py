"""What members say of messages: done, not done, or that a position is another one."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.broker.delivery.core.dispatch import Dealing
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.partition_cursor import Progress
from penstock.broker.delivery.core.position import Position
from penstock.broker.delivery.core.redelivery import Redelivery
from penstock.broker.delivery.core.refreshing import Refreshing
from penstock.broker.delivery.core.state import State
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.data import AckRange, Verdict


class Answers:
    __slots__ = ("_dealing", "_redelivery", "_refreshing", "_state")

    def __init__(self, state: State, dealing: Dealing, redelivery: Redelivery, refreshing: Refreshing) -> None:
        self._state = state
        self._dealing = dealing
        self._redelivery = redelivery
        self._refreshing = refreshing

    def acknowledge(self, member: Member, ranges: Iterable[AckRange], now_ms: int) -> None:
        """KafkaError if one of the messages was never sent; then nothing of it counts."""
        ranges = tuple(ranges)
        state = self._state
        for partition, first, last, _ in ranges:
            progress = state.progress.get(partition)
            if progress is None or last >= progress.next_offset:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"offsets {first} to {last} of partition {partition} were not sent; acknowledge what came in DATA",
                )
        for partition, first, last, verdict in ranges:
            if verdict is Verdict.DONE:
                self._done(member, state.progress[partition], first, last, now_ms)
            else:
                self._not_done(member, state.progress[partition], first, last, now_ms)
        state.flights.forget_finished()
        self._dealing.has_room(member, now_ms)
        if state.rewind_to is not None:
            self._refreshing.rewind_if_idle(now_ms)

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
                self._dealing.has_room(flight.member, now_ms)
            del unacked[offset]
            flight.left -= 1
            if flight.slot >= 0:
                self._state.owners.finished(flight.slot)
        member.in_flight -= freed
        self._state.tally.acknowledged += freed
        self._state.dirty.add(progress.partition)

    def _not_done(self, member: Member, progress: Progress, first: int, last: int, now_ms: int) -> None:
        due_ms = now_ms + self._state.rules.redelivery_delay_ms
        for offset in progress.within(first, last):
            flight = progress.unacked[offset]
            if flight.member is member:
                member.in_flight -= 1
                flight.left -= 1
                self._redelivery.give_back_one(flight, offset, due_ms)

    def commit(self, partition: int, offset: int, now_ms: int) -> None:
        """Set the position: everything below is done, delivery goes on from it."""
        state = self._state
        old = state.progress[partition]
        state.dirty.add(partition)
        if offset >= old.committed:
            for below in [one for one in old.unacked if one < offset]:
                self._drop(old, below)
            old.passed(offset)
        else:
            for above in tuple(old.unacked):
                self._drop(old, above)
            state.progress[partition] = Progress(partition, Position(offset))
            state.rewinds += 1
        state.flights.forget_finished()
        for member in tuple(state.members.values()):
            self._dealing.has_room(member, now_ms)

    def _drop(self, progress: Progress, offset: int) -> None:
        flight = progress.unacked.pop(offset)
        flight.left -= 1
        if flight.member is not None:
            flight.member.in_flight -= 1
        if flight.slot >= 0:
            self._state.owners.finished(flight.slot)
