"""Schedule of Python's cyclic garbage collector: a full collection with 10,000 partitions holds the loop for 0.1 s.

Nearly all garbage of a broker is freed at once, by reference counts. So the lasting objects of a node (modules, topics,
logs) are frozen, which takes them out of every search; searches among young objects, a fraction of a millisecond each,
go on as usual; and all of it is searched only every so often. Frozen objects are still freed when nothing refers to
them.
"""

from __future__ import annotations

import asyncio
import gc

# Objects made and not freed before the young are searched, and how many of those before the next older are: a search of
# ten thousand objects takes up to 5 ms, of four thousand 2. The last is a safety valve: half a million objects that no
# search has covered.
THRESHOLDS = (1000, 4, 125)
# Soon after the start, when all logs are open; then rarely.
FIRST_SECONDS = 90.0
INTERVAL_SECONDS = 1800.0


class GarbageSearch:
    """The settings of the process's collector, between `start` and `stop`."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._before = gc.get_threshold()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        gc.set_threshold(*THRESHOLDS)
        gc.freeze()
        gc.enable()  # the command `serve` switches it off for the start
        self._timer = loop.call_later(FIRST_SECONDS, self._search, loop)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gc.unfreeze()
        gc.set_threshold(*self._before)

    def _search(self, loop: asyncio.AbstractEventLoop) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._timer = loop.call_later(INTERVAL_SECONDS, self._search, loop)
