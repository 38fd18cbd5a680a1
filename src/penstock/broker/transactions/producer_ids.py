"""Producer ids, taken from durable blocks: no id is ever given out twice.

A reused id would make a new producer's first batches look like repeats of an old one's, and they would be lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

BLOCK_SIZE = 1000  # as Kafka


class ProducerIds:
    """Ids of the current block; the next block is made durable before its first id is given out.

    `first` is the first id that no block has held.
    """

    def __init__(self, next_block: Callable[[int], Awaitable[int]], first: int = 0) -> None:
        self.first = first
        """Ids below it may have been given out before the start; all that are given out now are not below it."""
        self._next_block = next_block
        self._next = first
        self._end = first
        self._lock = asyncio.Lock()

    async def next(self) -> int:
        async with self._lock:
            if self._next == self._end:
                self._next = await self._next_block(BLOCK_SIZE)
                self._end = self._next + BLOCK_SIZE
            self._next += 1
            return self._next - 1
