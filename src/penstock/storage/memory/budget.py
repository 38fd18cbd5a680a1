"""The memory that record batches may take: produce is refused above it, and taken again below.

The counterpart of `engine.jobs.free_space`. The broker's own records (offset commits) are written all the same:
compaction bounds those. Usage goes up and down around the limit, so taking writes again needs a little more space.
"""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)

_SLACK_BYTES_MAX = 16 << 20


class MemoryBudget:
    """Owned by the memory engine; its logs take and give back. Loop thread."""

    __slots__ = ("_bytes_max", "_reopen_bytes", "accepts_writes", "used_bytes")

    refusal = "storage.memory_bytes_max is reached"

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._reopen_bytes = bytes_max - min(_SLACK_BYTES_MAX, bytes_max // 10)
        self.used_bytes = 0
        self.accepts_writes = True

    def take(self, size: int) -> None:
        self.used_bytes += size
        if self.accepts_writes and self.used_bytes >= self._bytes_max:
            self.accepts_writes = False
            logger.error(
                "%d MiB of records in memory, storage.memory_bytes_max is reached: produce is refused until there is"
                " room", self.used_bytes >> 20,
            )  # fmt: skip

    def give_back(self, size: int) -> None:
        self.used_bytes -= size
        if not self.accepts_writes and self.used_bytes <= self._reopen_bytes:
            self.accepts_writes = True
            logger.warning("%d MiB of records in memory: produce is accepted again", self.used_bytes >> 20)
