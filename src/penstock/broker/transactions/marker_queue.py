"""The markers of all transactions that are ending, a few at a time.

A transaction may have more partitions than the process may have open files, and a marker holds one until it is flushed
(`storage.flush.file_cache`). So all transactions together have a bounded number of unflushed markers, and the next ones
are written when those are on disk, in turns of the event loop.

The first markers of a transaction do not stand in line behind the further ones of others: who ends a small one does not
wait for somebody's ten thousand partitions. The two lines take turns, so that many small ones do not stop a large one,
either. Loop thread.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Protocol

from penstock.model.limits import TURN_NS

UNFLUSHED_MAX = 200
"""Of all transactions together: far below the files that a node may have open, and enough for a flush round."""
RESUMED_AT = UNFLUSHED_MAX // 2
"""Unflushed markers at which the next are written: in portions, since each flush round costs a sync."""
PORTION = 20


class Ending(Protocol):
    """A transaction that is ending."""

    @property
    def is_pending(self) -> bool:
        """Whether there are markers that were not written."""
        ...

    def write_next(self) -> None:
        """Write one of them. `MarkerQueue.flushed` is called when it is on disk or has failed, perhaps at once."""
        ...


class MarkerQueue:
    """Endings with markers to write."""

    def __init__(self) -> None:
        self._new: deque[Ending] = deque()
        self._begun: deque[Ending] = deque()
        self._prefers_new = False
        self._unflushed = 0
        self._is_busy = False  # writing, or about to in the next turn
        self._is_stopped = False

    def add(self, ending: Ending) -> None:
        """Write the markers of a transaction, the first of them at once if there is room."""
        self._new.append(ending)
        self._go_on()

    def add_again(self, ending: Ending) -> None:
        """Write markers of one that was here before."""
        self._begun.append(ending)
        self._go_on()

    def write_now(self, ending: Ending) -> None:
        """Write one marker, whatever is waiting: for what must be in the log before the caller goes on."""
        self._unflushed += 1
        ending.write_next()

    def flushed(self) -> None:
        """Note that a marker is on disk, or will not be."""
        self._unflushed -= 1
        if self._unflushed <= RESUMED_AT:
            self._go_on()

    def stop(self) -> None:
        """Write no more: decisions are in the log, and the next start goes on with them."""
        self._is_stopped = True
        self._new.clear()
        self._begun.clear()

    def _go_on(self) -> None:
        if self._is_busy:
            return  # markers that are flushed at once call this again
        self._is_busy = True
        turn_end = time.perf_counter_ns() + TURN_NS
        while self._unflushed < UNFLUSHED_MAX and not self._is_stopped and (self._new or self._begun):
            self._write_portion(turn_end)
            if time.perf_counter_ns() > turn_end:
                asyncio.get_running_loop().call_soon(self._next_turn)
                return
        self._is_busy = False

    def _next_turn(self) -> None:
        self._is_busy = False
        self._go_on()

    def _write_portion(self, turn_end: int) -> None:
        ending = self._next()
        for _ in range(min(PORTION, UNFLUSHED_MAX - self._unflushed)):
            if not ending.is_pending:
                return
            self._unflushed += 1
            ending.write_next()
            if time.perf_counter_ns() > turn_end:
                break
        if ending.is_pending:
            self._begun.append(ending)

    def _next(self) -> Ending:
        self._prefers_new = not self._prefers_new
        if self._prefers_new:
            return (self._new or self._begun).popleft()
        return (self._begun or self._new).popleft()
