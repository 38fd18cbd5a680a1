"""The offsets that one group has committed, twice: as they are in the log, and as they may be shown.

A commit is `latest` as soon as it is appended: what deletes or expires offsets must know it. It is `visible` when it is
on disk: nobody may see an offset that a power cut could take back. Tombstones go the same two steps.

When offsets expire is decided here, too (KIP-211): counted from the moment a group became empty; from the commit for
consumers without a group and for topics that a living group no longer reads; never otherwise in a living group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.broker.groups.exchange import GroupState
from penstock.broker.groups.group import Group
from penstock.broker.groups.records import CommittedOffset
from penstock.broker.groups.subscription import CONSUMER
from penstock.model.ids import NO_TIMESTAMP

Table = dict[str, dict[int, CommittedOffset]]


class OffsetChange(NamedTuple):
    """A commit, or with None a removal."""

    topic: str
    partition: int
    committed: CommittedOffset | None


class StoredOffset(NamedTuple):
    """A commit, by where it was made for."""

    topic: str
    partition: int
    committed: CommittedOffset


class GroupOffsets:
    """Committed offsets of one group by topic and partition."""

    __slots__ = ("_unflushed", "latest", "visible")

    def __init__(self) -> None:
        self.latest: Table = {}
        self.visible: Table = {}
        self._unflushed = 0

    def appended(self, changes: list[OffsetChange]) -> None:
        self._unflushed += 1
        _apply(self.latest, changes)

    def flushed(self, changes: list[OffsetChange]) -> None:
        self._unflushed -= 1
        _apply(self.visible, changes)

    def load(self, change: OffsetChange) -> None:
        _apply(self.latest, [change])
        _apply(self.visible, [change])

    @property
    def is_gone(self) -> bool:
        """Nothing is stored and nothing is on its way."""
        return not self.latest and not self._unflushed

    def find(self, topic: str, partition: int) -> CommittedOffset | None:
        partitions = self.visible.get(topic)
        return None if partitions is None else partitions.get(partition)

    def places(self, topic: str | None = None) -> Iterator[tuple[str, int]]:
        """Topic and partition of everything that is stored, or of everything of one topic."""
        topics = self.latest if topic is None else {topic: self.latest.get(topic, {})}
        return ((name, partition) for name, partitions in topics.items() for partition in partitions)

    def stored(self) -> Iterator[StoredOffset]:
        for topic, partitions in self.latest.items():
            for partition, committed in partitions.items():
                yield StoredOffset(topic, partition, committed)

    def expired(self, group: Group, now_ms: int, retention_ms: int) -> list[OffsetChange]:
        """What has had its time, given the state of the group."""
        return [
            OffsetChange(topic, partition, None)
            for topic, partition, committed in self.stored()
            if _is_expired(topic, committed, group, now_ms, retention_ms)
        ]


def _is_expired(topic: str, committed: CommittedOffset, group: Group, now_ms: int, retention_ms: int) -> bool:
    if group.protocol_type is None:
        since_ms = committed.commit_ms
    elif group.state is GroupState.EMPTY:
        since_ms = committed.commit_ms if group.state_ms == NO_TIMESTAMP else group.state_ms
    elif (
        group.state is GroupState.STABLE
        and group.protocol_type == CONSUMER
        and group.topics is not None
        and topic not in group.topics
    ):
        since_ms = committed.commit_ms
    else:
        return False
    if committed.expire_ms != NO_TIMESTAMP:
        return now_ms >= committed.expire_ms
    return now_ms - since_ms >= retention_ms


def _apply(table: Table, changes: list[OffsetChange]) -> None:
    for topic, partition, committed in changes:
        partitions = table.get(topic)
        if committed is not None:
            if partitions is None:
                partitions = table[topic] = {}
            partitions[partition] = committed
        elif partitions is not None:
            partitions.pop(partition, None)
            if not partitions:
                del table[topic]
