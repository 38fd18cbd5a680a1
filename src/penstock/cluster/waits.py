"""Waiters of one partition, ordered by the offset that they wait for.

Appends come in rising order, so a waiter nearly always goes to the end and the due ones are at the front: adding and
releasing take constant time, however many wait. Only a producer that repeats an older batch is put between others.

A waiter is called exactly once, with NONE or with the reason why its offset will not get there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import itemgetter

from penstock.model.errors import ErrorCode

Done = Callable[[ErrorCode], None]

_NONE = ErrorCode.NONE
_offset = itemgetter(0)


class OffsetWaits:
    """Waiters by offset. A waiter may add others while it is being called. Loop thread."""

    __slots__ = ("_called", "waiting")

    def __init__(self) -> None:
        # A list, since an empty deque takes 760 bytes, and there are two of these for each of many partitions.
        self.waiting: list[tuple[int, Done]] = []
        """(last offset, waiter) by offset, those of one offset in the order of their arrival."""
        self._called = 0  # so many at the front are being called, or were, by `release`

    def add(self, last_offset: int, done: Done) -> None:
        waiting = self.waiting
        if waiting and waiting[-1][0] > last_offset:
            waiting.insert(bisect_right(waiting, last_offset, self._called, key=_offset), (last_offset, done))
        else:
            waiting.append((last_offset, done))

    def cancel(self, last_offset: int, done: Done) -> bool:
        """Forget a waiter, which is not called then; False if it is not waiting any more."""
        waiting = self.waiting
        for index in range(bisect_left(waiting, last_offset, self._called, key=_offset), len(waiting)):
            offset, waiter = waiting[index]
            if offset != last_offset:
                break
            if waiter == done:
                del waiting[index]
                return True
        return False

    def release(self, end: int) -> None:
        """Call every waiter whose last offset is below `end`."""
        waiting, code = self.waiting, _NONE
        try:
            while self._called < len(waiting) and waiting[self._called][0] < end:
                done = waiting[self._called][1]
                self._called += 1
                done(code)
        finally:
            del waiting[: self._called]
            self._called = 0

    def fail(self, code: ErrorCode) -> None:
        """Call all current waiters with an error: their offsets will not get there."""
        waiting = self.waiting[self._called :]
        del self.waiting[self._called :]
        for _, done in waiting:
            done(code)
