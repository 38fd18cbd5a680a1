"""Long work on the event loop in small steps, with turns for other work in between.

For loops over thousands of topics, partitions or configs, whose single steps are short. Work whose single step is
long belongs in another process.

A coroutine calls `pause` between its steps. Work that is short as a rule, and then should not cost a task, is a
generator that yields between its steps: `begin` does it at once if it is short, and `finish` is for coroutines that
need its result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

from penstock.model.limits import TURN_NS

Result = TypeVar("Result")
Steps = Generator[None, None, Result]
"""Work that yields between its steps, and what it returns."""
STEPS_AT_ONCE = 8


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


def begin(steps: Steps[Result]) -> Result | Coroutine[Any, Any, Result]:
    """Do the steps of one turn. Returns the result if that was all, else a coroutine that goes on.

    A few steps are always done at once, without a look at the clock.
    """
    try:
        for _ in range(STEPS_AT_ONCE):
            next(steps)
        _take_turn(steps)
    except StopIteration as end:
        result: Result = end.value
        return result
    return _go_on(steps)


def at_once(steps: Steps[Result]) -> Result:
    """Do all steps, without turns for others: of few things."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result: Result = end.value
        return result


async def finish(steps: Steps[Result]) -> Result:
    """Do all steps, turn by turn."""
    try:
        while True:
            _take_turn(steps)
            await asyncio.sleep(0)
    except StopIteration as end:
        result: Result = end.value
        return result


async def _go_on(steps: Steps[Result]) -> Result:
    await asyncio.sleep(0)
    return await finish(steps)


def _take_turn(steps: Steps[Any]) -> None:
    """Do steps until the turn has been long enough. StopIteration with the result after the last."""
    now = time.perf_counter_ns
    started = now()
    while now() - started <= TURN_NS:
        next(steps)
