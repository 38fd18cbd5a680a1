"""Refresh of a subscription: everything is delivered from the beginning again, until all members send READY.

`Refresh` is the request as it is stored. `RefreshProgress` follows one in a live subscription, from the wait until
nothing is in flight to the last READY.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.broker.delivery.core.dispatch import Dispatch
from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.poison import Exhausted
from penstock.broker.delivery.core.redelivery import Redelivery
from penstock.broker.progress.partition_cursor import Cursors
from penstock.broker.progress.position import Position
from penstock.model.errors import ErrorCode, KafkaError


class Refresh(NamedTuple):
    """A refresh. `ends` are the ends of the partitions when it was requested. The id rises with every refresh."""

    refresh_id: int
    ends: Mapping[int, int]


def encode_ends(ends: Mapping[int, int]) -> str:
    """Ends as meta.db stores them: `partition:end`, separated by spaces."""
    return " ".join(f"{partition}:{end}" for partition, end in sorted(ends.items()))


def decode_ends(text: str) -> dict[int, int]:
    pairs = (item.split(":") for item in text.split())
    return {int(partition): int(end) for partition, end in pairs}


class RefreshProgress:
    """The refresh under way, if there is one (`refresh`)."""

    __slots__ = (
        "_cursors", "_dispatch", "_exhausted", "_ready", "_redelivery", "_reset", "_starts", "refresh", "rewinds",
    )  # fmt: skip

    def __init__(
        self,
        refresh: Refresh | None,
        cursors: Cursors[Member],
        dispatch: Dispatch,
        redelivery: Redelivery,
        exhausted: Exhausted,
    ) -> None:
        self.refresh = refresh
        self.rewinds = 0
        """Refreshes that have begun: each time, delivery goes on elsewhere in all partitions."""
        self._cursors = cursors
        self._dispatch = dispatch
        self._redelivery = redelivery
        self._exhausted = exhausted
        self._starts: dict[int, int] | None = None  # where it begins, as soon as nothing is in flight
        self._reset: set[Member] = set()
        self._ready: set[Member] = set()

    # --- beginning ---------------------------------------------------------------------------------------------------

    def begin(self, refresh: Refresh, starts: Mapping[int, int], now_ms: int) -> None:
        """Deliver everything from `starts` on again, as soon as nothing is in flight."""
        self.refresh = refresh
        self._starts = dict(starts)
        self._cursors.changed.update(dict.fromkeys(starts))
        self._ready.clear()
        self._dispatch.halt()
        self.rewind_if_idle(now_ms)

    @property
    def is_waiting(self) -> bool:
        """Whether messages in flight have to be answered first."""
        return self._starts is not None

    def waiting_start(self, partition: int) -> int | None:
        """The position to be stored while it waits: a restart begins with the refresh."""
        return None if self._starts is None else self._starts.get(partition)

    def add_partition(self, partition: int, start: int) -> None:
        if self._starts is not None:
            self._starts.setdefault(partition, start)

    def rewind_if_idle(self, now_ms: int) -> None:
        if self._starts is None or self._dispatch.in_flight:
            return
        starts, self._starts = self._starts, None
        for partition, start in starts.items():
            self._cursors.add(partition, Position(start))
            self._cursors[partition].reset(Position(start))
        self._redelivery.clear()
        self._exhausted.clear()
        self._reset.clear()
        self.rewinds += 1
        self._dispatch.restart(now_ms)

    # --- members -----------------------------------------------------------------------------------------------------

    def needs_reset(self, member: Member) -> bool:
        """Whether a member has to be sent RESET before anything else."""
        return self.refresh is not None and self._starts is None and member not in self._reset

    def reset_sent(self, member: Member) -> None:
        self._reset.add(member)

    def leave(self, member: Member) -> None:
        self._reset.discard(member)
        self._ready.discard(member)

    def ready(self, member: Member, refresh_id: int) -> None:
        """Take a READY. KafkaError unless that refresh is under way and the member is done with it."""
        refresh = self.refresh
        if refresh is None or refresh.refresh_id != refresh_id or member not in self._reset or self.is_waiting:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"refresh {refresh_id} is not under way here")
        for partition, end in refresh.ends.items():
            cursor = self._cursors.get(partition)
            if cursor is not None and (cursor.next_offset < end or cursor.holds_below(member, end)):
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"messages below the end {end} of partition {partition} are not done; acknowledge them, then READY",
                )
        self._ready.add(member)

    # --- the end -----------------------------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether every member is ready, and everything below the ends is done."""
        members = self._dispatch.members.values()
        if self.refresh is None or self.is_waiting or not members:
            return False
        if not all(member in self._ready for member in members):
            return False
        cursors = self._cursors
        ends = self.refresh.ends.items()
        return all(cursors[partition].committed >= end for partition, end in ends if partition in cursors)

    def finish(self) -> None:
        """Forget the refresh, whose end is on disk."""
        self.refresh = None
