"""The offsets of all groups of one shard: committed ones, and those of open transactions. State only, no I/O."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.broker.groups.offsets.group_offsets import GroupOffsets, StoredOffset, Table
from penstock.broker.groups.offsets.pending import PendingOffset, PendingOffsets, Place
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange
from penstock.model.control_record import Marker

_NOTHING: Table = {}


class OffsetTable:
    """Offsets by group id."""

    def __init__(self) -> None:
        self._committed: dict[str, GroupOffsets] = {}
        self.pending = PendingOffsets()

    def get(self, group_id: str) -> GroupOffsets | None:
        return self._committed.get(group_id)

    def visible(self, group_id: str) -> Table:
        """Offsets of a group that are on disk; empty for an unknown group."""
        offsets = self._committed.get(group_id)
        return _NOTHING if offsets is None else offsets.visible

    @property
    def group_ids(self) -> set[str]:
        """Groups with offsets, committed or pending."""
        return {*self._committed, *self.pending.group_ids}

    @property
    def committed_ids(self) -> tuple[str, ...]:
        """Groups with committed offsets."""
        return tuple(self._committed)

    def has_group(self, group_id: str) -> bool:
        """Whether anything of the group is stored, committed or pending."""
        offsets = self._committed.get(group_id)
        return (offsets is not None and bool(offsets.latest)) or self.pending.has_group(group_id)

    def is_stored(self, group_id: str, topic: str, partition: int) -> bool:
        offsets = self._committed.get(group_id)
        is_committed = offsets is not None and partition in offsets.latest.get(topic, {})
        return is_committed or self.pending.is_pending(group_id, topic, partition)

    def stored(self, group_id: str) -> Iterator[StoredOffset]:
        """Everything of a group, committed and pending."""
        offsets = self._committed.get(group_id)
        if offsets is not None:
            yield from offsets.stored()
        yield from self.pending.stored(group_id)

    def stored_at(self, group_id: str, place: Place) -> Iterator[CommittedOffset]:
        """The offset that a group has committed there, and those that are pending."""
        offsets = self._committed.get(group_id)
        committed = None if offsets is None else offsets.get(place)
        if committed is not None:
            yield committed
        yield from self.pending.stored_at(group_id, place)

    def places(self, group_id: str, topic: str | None = None) -> Iterator[Place]:
        """Places of everything of a group, or of everything of one topic, pending commits included.

        One with a pending commit may come twice.
        """
        offsets = self._committed.get(group_id)
        if offsets is not None:
            yield from offsets.places(topic)
        yield from (place for place in self.pending.places(group_id) if topic in (None, place[0]))

    # --- changes -----------------------------------------------------------------------------------------------------

    def appended(self, group_id: str, changes: list[OffsetChange], last_offset: int) -> None:
        """Note changes that are in the log."""
        offsets = self._committed.get(group_id)
        if offsets is None:
            offsets = self._committed[group_id] = GroupOffsets()
        offsets.appended(changes)
        self.pending.overtaken(group_id, changes, last_offset)

    def flushed(self, group_id: str, changes: list[OffsetChange]) -> None:
        """Show changes that are on disk."""
        offsets = self._committed.get(group_id)
        if offsets is None:
            return  # everything was forgotten meanwhile
        offsets.flushed(changes)
        if offsets.is_gone:
            del self._committed[group_id]

    def load(self, group_id: str, change: OffsetChange) -> None:
        """Take over a change that is on disk already."""
        self._committed.setdefault(group_id, GroupOffsets()).load(change)

    def add_pending(self, group_id: str, changes: list[OffsetChange], producer_id: int, last_offset: int) -> None:
        for change in changes:
            self.pending.add(producer_id, PendingOffset(last_offset, group_id, change))

    def end_pending(self, marker: Marker) -> None:
        """Commit or drop the pending offsets of a producer whose transaction has ended, with the marker on disk."""
        for group_id, changes in self.pending.end(marker.producer_id, commit=marker.is_commit).items():
            for change in changes:
                self.load(group_id, change)

    def clear(self) -> None:
        self._committed.clear()
        self.pending.clear()
