"""Offsets that were committed inside transactions which have not ended yet.

They are in the log of their group, but count only if and when their producer's transaction commits there. Of several
commits for one partition the one that is later in the log wins, whatever ends first.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.broker.groups.offsets import OffsetChange

Place = tuple[str, str, int]
"""Group, topic, partition."""


class PendingOffset(NamedTuple):
    log_offset: int
    group_id: str
    change: OffsetChange

    @property
    def place(self) -> Place:
        return self.group_id, self.change.topic, self.change.partition


class PendingOffsets:
    """Those of one partition of `__consumer_offsets`, by producer id."""

    __slots__ = ("_by_producer", "_latest", "_waiting")

    def __init__(self) -> None:
        self._by_producer: dict[int, list[PendingOffset]] = {}
        self._waiting: dict[Place, int] = {}  # how many are pending
        self._latest: dict[Place, int] = {}  # of places where some are: where in the log the one that counts is

    def add(self, producer_id: int, pending: PendingOffset) -> None:
        self._by_producer.setdefault(producer_id, []).append(pending)
        self._waiting[pending.place] = self._waiting.get(pending.place, 0) + 1

    def overtaken(self, group_id: str, changes: list[OffsetChange], log_offset: int) -> None:
        """A commit outside of any transaction came later in the log."""
        for change in changes:
            place = group_id, change.topic, change.partition
            if place in self._waiting:
                self._latest[place] = log_offset

    def end(self, producer_id: int, *, commit: bool) -> dict[str, list[OffsetChange]]:
        """The producer's transaction is over. What counts from now on, by group."""
        counting: dict[str, list[OffsetChange]] = {}
        for pending in self._by_producer.pop(producer_id, ()):
            place = pending.place
            if commit and pending.log_offset >= self._latest.get(place, -1):
                self._latest[place] = pending.log_offset
                counting.setdefault(pending.group_id, []).append(pending.change)
            self._waiting[place] -= 1
            if not self._waiting[place]:
                del self._waiting[place]
                self._latest.pop(place, None)
        return counting

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        return (group_id, topic, partition) in self._waiting

    def has_group(self, group_id: str) -> bool:
        return any(place[0] == group_id for place in self._waiting)

    def clear(self) -> None:
        self._by_producer.clear()
        self._waiting.clear()
        self._latest.clear()
