"""Threads with a line in front, in which owners take turns: one with much work does not hold up the others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from penstock.runtime.fair_line import FairLine

T = TypeVar("T")


class FairThreads:
    """Belongs to the event loop's thread."""

    def __init__(self, count: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(count, name)
        self._line = FairLine(count)
        self._closed = False

    def close(self) -> None:
        """What has not begun is given up: whoever waits for it gets a CancelledError."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, owner: str, function: Callable[..., T], *args: Any) -> T:
        """The result of a function. Its thread is taken until it ends, even if nobody waits for it any more."""
        await self._line.enter(owner)
        if self._closed:
            self._line.leave()
            raise asyncio.CancelledError
        loop = asyncio.get_running_loop()
        task = self._threads.submit(function, *args)
        task.add_done_callback(lambda _: call_on(loop, self._line.leave))
        return await asyncio.wrap_future(task)


def call_on(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """Call a function on a loop, if that still runs. Any thread."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function)
