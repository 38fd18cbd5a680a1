"""The committed offsets of one group, twice: as they are in the log, and as they may be shown.

A commit is `latest` as soon as it is appended, because deletion and expiry must know it. It is `visible` when it is on
disk: no client may see an offset that a power cut could take back. Tombstones take the same two steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange

Table = dict[str, dict[int, CommittedOffset]]
"""Committed offsets by topic and partition."""


class StoredOffset(NamedTuple):
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
        """Take over a change that is on disk already."""
        _apply(self.latest, [change])
        _apply(self.visible, [change])

    @property
    def is_gone(self) -> bool:
        """Whether nothing is stored and nothing is being stored."""
        return not self.latest and not self._unflushed

    def get(self, place: tuple[str, int]) -> CommittedOffset | None:
        return self.latest.get(place[0], {}).get(place[1])

    def places(self, topic: str | None = None) -> Iterator[tuple[str, int]]:
        """Topic and partition of everything that is stored, or of everything of one topic."""
        topics = self.latest if topic is None else {topic: self.latest.get(topic, {})}
        return ((name, partition) for name, partitions in topics.items() for partition in partitions)

    def stored(self) -> Iterator[StoredOffset]:
        for topic, partitions in self.latest.items():
            for partition, committed in partitions.items():
                yield StoredOffset(topic, partition, committed)


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
