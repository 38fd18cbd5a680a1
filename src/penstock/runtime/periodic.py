"""A function called periodically on the event loop, until it is stopped. A failure is logged and retried."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


class Periodic:
    """Runs `work` every `interval_ms`; the next run waits for the last one to end."""

    def __init__(self, name: str, interval_ms: int, work: Callable[[], Awaitable[object]]) -> None:
        self._name = name
        self._interval_s = interval_ms / 1000
        self._work = work
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self._work()
            except Exception:
                logger.exception("%s failed, it is tried again in %g s", self._name, self._interval_s)
