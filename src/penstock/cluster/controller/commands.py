"""The queue of the controller's commands: one after the other, durable first, then visible.

Of two commands that create the same topic, one wins and the other finds it there. The store is written in a thread of
its own, everything else happens on the event loop. A command that has begun is finished even if its client goes away,
so that what is durable is always what is visible.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

_CHANGES_PER_START = 1_000_000  # leaves room in the numbering of changes, so that it rises at a start


class Commands:
    """Runs commands in turn, and makes their changes durable."""

    def __init__(self, boot: int) -> None:
        self.epoch = boot
        """Stands for the controller's epoch: rises at every start."""
        self.log_end = boot * _CHANGES_PER_START + 1
        """Stands for the end of the metadata log: rises with every durable change and every start."""
        self._lock = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata")

    async def run(self, command: Coroutine[Any, Any, T]) -> T:
        """The result of a command, which runs when those before it have ended."""
        task = asyncio.ensure_future(self._in_turn(command))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        finally:
            del task  # an error that it raises holds this frame, which must not hold the task and the error with it

    async def durably(self, change: Callable[..., None], *args: object) -> None:
        """Make a change of the metadata store durable; for use inside a command."""
        await asyncio.get_running_loop().run_in_executor(self._executor, change, *args)
        self.log_end += 1

    async def change_store(self, change: Callable[[], None], *, then: Callable[[], None]) -> None:
        """Run a change of the store that another part owns as a command; `then` makes it visible."""
        await self.run(self._change_store(change, then))

    async def close(self) -> None:
        """Let running commands end. No command may be sent any more."""
        if self._running:
            await asyncio.wait(self._running)
        self._executor.shutdown()

    async def _in_turn(self, command: Awaitable[T]) -> T:
        async with self._lock:
            return await command

    async def _change_store(self, change: Callable[[], None], then: Callable[[], None]) -> None:
        await self.durably(change)
        then()
