"""The time of a coroutine on the loop."""

import asyncio
import time

import pytest

from penstock.broker.quotas.timed import Timed


def busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


async def work() -> str:
    busy(0.02)
    await asyncio.sleep(0.1)
    busy(0.02)
    await asyncio.sleep(0)
    return "done"


def test_waits_do_not_count() -> None:
    async def scenario() -> None:
        timed = Timed(work())
        assert await timed == "done"
        assert 0.04 <= timed.spent_ns / 1e9 < 0.1

    asyncio.run(scenario())


def test_errors_and_cancellation_go_through() -> None:
    seen = []

    async def fail() -> None:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
        except TimeoutError:
            seen.append("timeout")
        raise KeyError("on purpose")

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cleaned up")

    async def waited(timed: Timed[None]) -> None:
        await timed

    async def scenario() -> None:
        with pytest.raises(KeyError):
            await Timed(fail())
        task = asyncio.create_task(waited(Timed(wait())))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert seen == ["timeout", "cleaned up"]


def test_one_that_is_never_finished_is_closed() -> None:
    closed = []

    async def wait() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    steps = Timed(wait()).__await__()
    next(steps)
    steps.close()
    assert closed
