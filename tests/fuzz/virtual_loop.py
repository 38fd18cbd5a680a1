"""An event loop whose time goes on only when there is nothing to do, and whose threads are none.

A fetch that waits for five minutes is over at once, and the same input takes the same path every time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` begins at 1000 and jumps from timer to timer."""

    def __init__(self) -> None:
        self._seconds = 1_000.0
        super().__init__(_JumpingSelector(self._jump))

    def time(self) -> float:
        return self._seconds

    def _jump(self, seconds: float) -> None:
        self._seconds += seconds

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """At once, here: what a thread would do."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


class _JumpingSelector(selectors.SelectSelector):
    """Waiting takes no time. Only the loop's own pipe is registered: it wakes itself through it."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout:
            self._jump(timeout + 1e-6)  # a hair more: the loop compares times that were added up differently
        assert found or timeout is not None, "nothing will ever happen again"
        return found


class LoopClock:
    """Implements `runtime.clock.Clock` on the loop's time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        return 1_700_000_000_000 + self.monotonic_ms()

    def monotonic_ms(self) -> int:
        return round(self._loop.time() * 1000)
