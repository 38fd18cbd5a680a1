"""Work in steps: done at once if it is short, turn by turn if it is long."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from penstock.model.limits import TURN_NS
from penstock.runtime.turns import STEPS_AT_ONCE, Steps, at_once, begin, finish


def work(steps: int, step_s: float = 0.0) -> Steps[int]:
    for _ in range(steps):
        if step_s:
            time.sleep(step_s)
        yield
    return steps


def failing(steps: int, step_s: float = 0.0) -> Steps[int]:
    yield from work(steps, step_s)
    raise ValueError("no")


def test_short_work_is_done_at_once() -> None:
    assert begin(work(0)) == 0
    assert begin(work(STEPS_AT_ONCE - 1)) == STEPS_AT_ONCE - 1
    with pytest.raises(ValueError, match="no"):
        begin(failing(5))


def test_all_steps_at_once() -> None:
    assert at_once(work(5 * STEPS_AT_ONCE)) == 5 * STEPS_AT_ONCE
    with pytest.raises(ValueError, match="no"):
        at_once(failing(5 * STEPS_AT_ONCE))


async def count_turns(coming: Coroutine[Any, Any, int]) -> tuple[int, int]:
    """The result, and how often other work had a turn meanwhile."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    try:
        return await coming, turns
    finally:
        task.cancel()


def test_long_work_gives_turns_away() -> None:
    step_s = TURN_NS / 1e9
    begun = begin(work(20, step_s))
    assert isinstance(begun, Coroutine)
    for coming in (begun, finish(work(20, step_s))):
        result, turns = asyncio.run(count_turns(coming))
        assert result == 20
        assert turns >= 4


def test_an_error_of_long_work_comes_out() -> None:
    begun = begin(failing(20, TURN_NS / 1e9))
    assert isinstance(begun, Coroutine)
    with pytest.raises(ValueError, match="no"):
        asyncio.run(begun)
