"""Wide Produce requests on their way to the logs: in turns, with a bounded number of batches that are not on disk yet.

A request may have more partitions than the process may have open files, and a batch holds one until it is flushed
(`storage.flush.file_cache`). So all wide requests together have a bounded number of unflushed batches, and append the
next when those are on disk. They do so in portions, and users take turns. Loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from penstock.runtime.fair_line import FairLine

UNFLUSHED_MAX = 1_000
"""Of all wide requests together: below what a node has left of its files, and enough for few flush rounds."""
RESUMED_AT = UNFLUSHED_MAX // 2
"""Unflushed batches at which the next are appended: many share a flush round, which costs a sync."""
PORTION = 20
"""Batches that are appended in one go: about two milliseconds, if each begins the first segment of its log."""


class WideAppends:
    """The wide requests of a node."""

    def __init__(self) -> None:
        self._line = FairLine(1)
        self._unflushed = 0
        self._room: asyncio.Future[None] | None = None  # of the request whose portion is next

    @property
    def is_full(self) -> bool:
        return self._unflushed >= UNFLUSHED_MAX

    @asynccontextmanager
    async def portion(self, user: str) -> AsyncIterator[None]:
        """The time to append PORTION batches, each of which is `appended`, and later `flushed`."""
        await self._line.enter(user)
        try:
            if self.is_full:
                self._room = asyncio.get_running_loop().create_future()
                await self._room
            yield
        finally:
            self._room = None
            self._line.leave()

    def appended(self) -> None:
        self._unflushed += 1

    def flushed(self) -> None:
        """Note that a batch is on disk, or will not be."""
        self._unflushed -= 1
        if self._room is not None and self._unflushed <= RESUMED_AT and not self._room.done():
            self._room.set_result(None)
