"""A refresh under way in a subscription's core: from the wait until nothing is in flight to the last READY."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.broker.delivery.core.dispatch import Dealing
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.partition_cursor import Progress
from penstock.broker.delivery.core.position import Position
from penstock.broker.delivery.core.redelivery import Redelivery
from penstock.broker.delivery.core.refresh import Refresh
from penstock.broker.delivery.core.state import State
from penstock.model.errors import ErrorCode, KafkaError


class Refreshing:
    __slots__ = ("_dealing", "_redelivery", "_state")

    def __init__(self, state: State, dealing: Dealing, redelivery: Redelivery) -> None:
        self._state = state
        self._dealing = dealing
        self._redelivery = redelivery

    def begin(self, refresh: Refresh, starts: Mapping[int, int], now_ms: int) -> None:
        """Everything from `starts` once more, as soon as nothing is in flight."""
        state = self._state
        state.refresh = refresh
        state.rewind_to = dict(starts)
        state.dirty.update(starts)
        for member in state.members.values():
            member.said_ready = False
        self.rewind_if_idle(now_ms)

    @property
    def is_waiting(self) -> bool:
        """For everything in flight to be answered."""
        return self._state.rewind_to is not None

    def rewind_if_idle(self, now_ms: int) -> None:
        state = self._state
        if state.rewind_to is None or state.in_flight:
            return
        starts, state.rewind_to = state.rewind_to, None
        state.progress.clear()
        state.progress.update({partition: Progress(partition, Position(start)) for partition, start in starts.items()})
        state.dirty.update(starts)
        state.rewinds += 1
        state.flights.clear()
        self._redelivery.clear()
        state.owners.clear()
        state.waiting_count = 0
        for member in state.members.values():
            member.waiting.clear()
            member.reset_sent = False
            self._dealing.has_room(member, now_ms)

    def must_reset(self, member: Member) -> bool:
        """Whether a member has to be told of the refresh before anything else."""
        return self._state.refresh is not None and self._state.rewind_to is None and not member.reset_sent

    def ready(self, member: Member, refresh_id: int) -> None:
        """KafkaError unless that is the refresh under way and the member has done with it."""
        refresh = self._state.refresh
        if refresh is None or refresh.refresh_id != refresh_id or not member.reset_sent or self.is_waiting:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"refresh {refresh_id} is not under way here")
        for partition, end in refresh.ends.items():
            progress = self._state.progress.get(partition)
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
    def is_over(self) -> bool:
        """Everybody is ready, and everything below the ends is done."""
        state = self._state
        if state.refresh is None or self.is_waiting or not state.members:
            return False
        if not all(member.said_ready for member in state.members.values()):
            return False
        ends = state.refresh.ends.items()
        return all(state.progress[partition].committed >= end for partition, end in ends if partition in state.progress)
