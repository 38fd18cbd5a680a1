"""One timer for all groups, set to the earliest deadline of any member.

A group has at most one entry per wake-up time. Heartbeats move deadlines further away, so entries may be too early: the
group then finds nothing to do and says when to come again.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterator

from penstock.broker.groups.group import CoordinatedGroup
from penstock.runtime.clock import Clock


class Schedule:
    """Groups by the time at which they want to be woken."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, CoordinatedGroup]] = []
        self._wakes: dict[int, int] = {}  # id of a group in the heap: its earliest entry
        self._tie_breaker = itertools.count()

    def note(self, group: CoordinatedGroup) -> bool:
        """Schedule the group's next deadline. True if it is now the earliest of all."""
        wake_ms = group.wake_ms
        if wake_ms is None or wake_ms >= self._wakes.get(id(group), wake_ms + 1):
            return False
        self._wakes[id(group)] = wake_ms
        heapq.heappush(self._heap, (wake_ms, next(self._tie_breaker), group))
        return self._heap[0][2] is group

    def next_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> Iterator[CoordinatedGroup]:
        """Take out the groups whose time has come."""
        while self._heap and self._heap[0][0] <= now_ms:
            wake_ms, _, group = heapq.heappop(self._heap)
            if self._wakes.get(id(group)) == wake_ms:
                del self._wakes[id(group)]
                yield group


class GroupTimer:
    """Calls `wake` with each group whose time has come, on the event loop."""

    def __init__(self, clock: Clock, wake: Callable[[CoordinatedGroup], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._schedule = Schedule()
        self._handle: asyncio.TimerHandle | None = None
        self._is_running = False

    def start(self) -> None:
        self._is_running = True

    def stop(self) -> None:
        self._is_running = False
        if self._handle is not None:
            self._handle.cancel()

    def note(self, group: CoordinatedGroup) -> None:
        """Schedule a deadline that may have changed."""
        if self._schedule.note(group):
            self._set()

    def tick(self) -> None:
        """Wake every group whose time has come."""
        for group in tuple(self._schedule.due(self._clock.monotonic_ms())):
            self._wake(group)
        self._set()

    def _set(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        next_ms = self._schedule.next_ms()
        if next_ms is not None and self._is_running:
            delay_ms = max(0, next_ms - self._clock.monotonic_ms())
            self._handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self.tick)
