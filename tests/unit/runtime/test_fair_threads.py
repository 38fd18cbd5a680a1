"""Threads in front of which owners take turns."""

from __future__ import annotations

import asyncio
import threading

import pytest

from penstock.runtime.fair_threads import FairThreads


def test_a_thread_is_taken_until_its_work_ends() -> None:
    """Whoever asks and goes away does not get more threads than there are, nor a longer turn."""
    gate, running, most = threading.Event(), list[int](), list[int]()

    def work() -> None:
        running.append(1)
        most.append(len(running))
        gate.wait()
        running.pop()

    async def test() -> None:
        threads = FairThreads(1, "test")
        gone = [asyncio.ensure_future(threads.run("a", work)) for _ in range(5)]
        await asyncio.sleep(0)
        for each in gone:
            each.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        waiting = asyncio.ensure_future(threads.run("b", str, 1))
        await asyncio.sleep(0)
        assert not waiting.done()
        gate.set()
        assert await asyncio.wait_for(waiting, 10) == "1"
        assert max(most, default=1) == 1
        threads.close()

    asyncio.run(test())


def test_what_has_not_begun_is_given_up_at_the_end() -> None:
    gate = threading.Event()

    async def test() -> None:
        threads = FairThreads(1, "test")
        begun, *others = [asyncio.ensure_future(threads.run("a", gate.wait)) for _ in range(4)]
        await asyncio.sleep(0)
        threads.close()
        gate.set()
        assert await asyncio.wait_for(begun, 10)
        for each in others:
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(each, 10)

    asyncio.run(test())
