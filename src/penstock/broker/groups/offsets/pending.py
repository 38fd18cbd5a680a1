"""Offsets that were committed inside transactions which have not ended yet.

They are in the log of their group, but count only if and when their producer's transaction commits there. Of several
commits for one partition the one that is later in the log wins, whichever transaction ends first. A tombstone, as it is
written when the group, the offset or the topic is deleted, removes pending offsets, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.broker.groups.offsets.group_offsets import StoredOffset
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange

Place = tuple[str, int]
"""Topic and partition."""


class PendingOffset(NamedTuple):
    log_offset: int
    group_id: str
    change: OffsetChange

    @property
    def place(self) -> Place:
        return self.change.topic, self.change.partition


class _Waiting:
    """Pending commits for one partition of a group."""

    __slots__ = ("latest", "producers")

    def __init__(self) -> None:
        self.producers: set[int] = set()
        self.latest = -1  # log offset of the commit that counts


class PendingOffsets:
    """Pending offsets of one partition of `__consumer_offsets`, by producer id."""

    __slots__ = ("_by_group", "_by_producer")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[tuple[str, Place], PendingOffset]] = {}
        self._by_group: dict[str, dict[Place, _Waiting]] = {}

    def add(self, producer_id: int, pending: PendingOffset) -> None:
        """Add a commit, in the order of the log: a later one of the same producer replaces the one before."""
        self._by_producer.setdefault(producer_id, {})[pending.group_id, pending.place] = pending
        places = self._by_group.setdefault(pending.group_id, {})
        places.setdefault(pending.place, _Waiting()).producers.add(producer_id)

    def overtaken(self, group_id: str, changes: list[OffsetChange], log_offset: int) -> None:
        """Note a commit outside of any transaction, or a tombstone, that is later in the log."""
        places = self._by_group.get(group_id)
        if places is None:
            return
        for change in changes:
            place = change.topic, change.partition
            waiting = places.get(place)
            if waiting is None:
                continue
            if change.committed is not None:
                waiting.latest = log_offset
                continue
            for producer_id in waiting.producers:
                self._by_producer[producer_id].pop((group_id, place))
            self._forget(group_id, place)

    def end(self, producer_id: int, *, commit: bool) -> dict[str, list[OffsetChange]]:
        """End the producer's transaction. Returns the changes that count from now on, by group."""
        counting: dict[str, list[OffsetChange]] = {}
        for (group_id, place), pending in self._by_producer.pop(producer_id, {}).items():
            waiting = self._by_group[group_id][place]
            if commit and pending.log_offset >= waiting.latest:
                waiting.latest = pending.log_offset
                counting.setdefault(group_id, []).append(pending.change)
            waiting.producers.discard(producer_id)
            if not waiting.producers:
                self._forget(group_id, place)
        return counting

    def _forget(self, group_id: str, place: Place) -> None:
        places = self._by_group[group_id]
        del places[place]
        if not places:
            del self._by_group[group_id]

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        return (topic, partition) in self._by_group.get(group_id, {})

    def has_group(self, group_id: str) -> bool:
        return group_id in self._by_group

    @property
    def group_ids(self) -> tuple[str, ...]:
        return tuple(self._by_group)

    def places(self, group_id: str) -> Iterator[Place]:
        return iter(self._by_group.get(group_id, {}))

    def stored(self, group_id: str) -> Iterator[StoredOffset]:
        """All pending offsets of a group."""
        for place in self._by_group.get(group_id, {}):
            for committed in self.stored_at(group_id, place):
                yield StoredOffset(*place, committed)

    def stored_at(self, group_id: str, place: Place) -> Iterator[CommittedOffset]:
        waiting = self._by_group.get(group_id, {}).get(place)
        for producer_id in () if waiting is None else waiting.producers:
            committed = self._by_producer[producer_id][group_id, place].change.committed
            if committed is not None:
                yield committed

    def clear(self) -> None:
        self._by_producer.clear()
        self._by_group.clear()
