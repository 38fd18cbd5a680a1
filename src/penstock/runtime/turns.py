"""Long work on the event loop in small steps, with turns for other work in between.

For loops over thousands of topics, partitions or configs, whose single steps are short. Work whose single step is
long belongs in another process.
"""

from __future__ import annotations

import asyncio
import time

from penstock.model.limits import TURN_NS


class Turns:
    """One piece of long work: `await turns.pause()` after every short step."""

    __slots__ = ("_started",)

    def __init__(self) -> None:
        self._started = time.perf_counter_ns()

    async def pause(self) -> None:
        """Let other tasks run if this turn has been long enough."""
        if time.perf_counter_ns() - self._started > TURN_NS:
            await asyncio.sleep(0)
            self._started = time.perf_counter_ns()
