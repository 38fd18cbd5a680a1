"""Threads for handlers that are plain functions. Not an executor, which keeps a process alive until the last call has
returned: a handler that never returns must not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

Value = TypeVar("Value")
_Call = tuple[Callable[[], Any], asyncio.Future[Any], asyncio.AbstractEventLoop]


class HandlerThreads:
    """A number of threads, started with the first call."""

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._started = False

    async def run(self, call: Callable[[], Value]) -> Value:
        """Run `call` in one of the threads; its result or its exception."""
        if not self._started:
            self._started = True
            for number in range(self._count):
                threading.Thread(target=self._work, name=f"{self._name}-{number}", daemon=True).start()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Value] = loop.create_future()
        self._calls.put((call, answer, loop))
        return await answer

    def close(self) -> None:
        """Accept no more calls. Running calls continue, but nothing waits for them."""
        for _ in range(self._count):
            self._calls.put(None)

    def _work(self) -> None:
        while (given := self._calls.get()) is not None:
            call, answer, loop = given
            value, error = None, None
            try:
                value = call()
            except BaseException as raised:  # also SystemExit: the waiting coroutine must learn of it
                error = raised
            try:
                loop.call_soon_threadsafe(_settle, answer, value, error)
            except RuntimeError:
                return  # the loop has gone, and its waiters with it


def _settle(answer: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(value)
    elif isinstance(error, StopIteration | KeyboardInterrupt | SystemExit):  # not taken by a future or a loop
        answer.set_exception(RuntimeError(f"a handler raised {type(error).__name__}"))
    else:
        answer.set_exception(error)
