"""When which group must be looked at: one heap for all groups, whatever their members.

A group only ever gets one entry per wake-up time. Heartbeats move deadlines further away, so entries are allowed to be
too early: the group then finds nothing to do and says when to come again.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator

from penstock.broker.groups.group import Group


class Schedule:
    """Groups by the time at which they want to be woken."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Group]] = []
        self._wakes: dict[int, int] = {}  # id of a group in the heap: its earliest entry
        self._tie_breaker = itertools.count()

    def note(self, group: Group) -> bool:
        """The group may have a new deadline. True if it is now the first of all."""
        wake_ms = group.wake_ms
        if wake_ms is None or wake_ms >= self._wakes.get(id(group), wake_ms + 1):
            return False
        self._wakes[id(group)] = wake_ms
        heapq.heappush(self._heap, (wake_ms, next(self._tie_breaker), group))
        return self._heap[0][2] is group

    def next_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> Iterator[Group]:
        """Take out the groups whose time has come."""
        while self._heap and self._heap[0][0] <= now_ms:
            wake_ms, _, group = heapq.heappop(self._heap)
            if self._wakes.get(id(group)) == wake_ms:
                del self._wakes[id(group)]
                yield group
