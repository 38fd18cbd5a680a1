"""Threads for checks that wait for another system: a bounded number, and a time after which a check is given up.

A thread cannot be stopped. One whose check was given up keeps its place until it ends by itself, so that a system that
does not answer costs no more threads than there are places; checks that find no place in time are given up as well. The
threads do not hold up the end of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

Outcome = TypeVar("Outcome")


class CheckThreads:
    def __init__(self, count_max: int, timeout_ms: int) -> None:
        self._timeout_s = timeout_ms / 1000
        self._places = asyncio.Semaphore(count_max)

    async def run(self, check: Callable[[], Outcome]) -> Outcome:
        """The outcome of a check, TimeoutError if it takes too long, with its wait for a place."""
        async with asyncio.timeout(self._timeout_s):
            await self._places.acquire()
            try:
                answer = self._begin(check)
            except RuntimeError:  # the system gives the process no more threads
                self._places.release()
                raise TimeoutError from None
            return await answer

    def _begin(self, check: Callable[[], Outcome]) -> asyncio.Future[Outcome]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Outcome] = loop.create_future()

        def ended(outcome: Outcome | None, error: BaseException | None) -> None:
            self._places.release()
            if answer.done():
                return  # given up
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(outcome)  # type: ignore[arg-type]

        def run() -> None:
            outcome: Outcome | None = None
            error: BaseException | None = None
            try:
                outcome = check()
            except BaseException as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(ended, outcome, error)

        threading.Thread(target=run, name="authenticator", daemon=True).start()
        return answer
