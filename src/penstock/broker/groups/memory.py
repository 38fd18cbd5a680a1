"""Memory that groups keep for their members: subscriptions, assignments, names, and ids that were handed out.

Members choose all of it, and it stays until their sessions end, half an hour if they ask for that. So there is a bound
over all groups. Each group has an account, which notes what it keeps; a request that would keep more asks first. Most
members need less than a kilobyte, and an eighth of the bound is left to the small ones: members that keep much cannot
lock the others out.

Accounts are charged, never refused, for what is on disk: groups are loaded however much they keep.
"""

from __future__ import annotations

import logging
from sys import getsizeof
from typing import Final

from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import GROUP_METADATA_BYTES_MAX, KIB
from penstock.observability.repeats import Repeats

logger = logging.getLogger(__name__)

SMALL_BYTES: Final = 16 * KIB
GROUP_BYTES: Final = 4 * KIB
"""Memory of a group besides its members, about."""
ENTRY_BYTES: Final = 200
"""Memory of an entry in a table, about."""


class GroupMemory:
    """The memory of all groups of the node."""

    __slots__ = ("_bytes_max", "_refusals", "held_bytes")

    def __init__(self, bytes_max: int = GROUP_METADATA_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._refusals = Repeats(logger)
        self.held_bytes = 0

    def check(self, more_bytes: int) -> None:
        """Raise COORDINATOR_NOT_AVAILABLE, which members take as a reason to try again, if there is no such room."""
        room_bytes = self._bytes_max if more_bytes <= SMALL_BYTES else self._bytes_max - self._bytes_max // 8
        if more_bytes <= 0 or self.held_bytes + more_bytes <= room_bytes:
            return
        message = (
            f"groups keep {self.held_bytes} bytes for their members, and there is no room for {more_bytes} more; wait"
            " until sessions end, or raise limits.group_metadata_bytes_max"
        )
        self._refusals.warning("no room", message)
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, message)

    def change(self, delta: int) -> None:
        self.held_bytes += delta


class GroupAccount:
    """The memory that one group keeps, until it is closed."""

    __slots__ = ("_is_open", "_memory", "held_bytes")

    def __init__(self, memory: GroupMemory) -> None:
        self._memory = memory
        self._is_open = True
        self.held_bytes = 0

    def check(self, more_bytes: int) -> None:
        self._memory.check(more_bytes)

    def change(self, delta: int) -> None:
        if delta and self._is_open:
            self.held_bytes += delta
            self._memory.change(delta)

    def close(self) -> None:
        """Give everything back, because the group is gone. May be called again."""
        self.change(-self.held_bytes)
        self._is_open = False


def kept_bytes(*kept: str | bytes | None) -> int:
    """The memory of texts and bytes in a table."""
    return sum(map(getsizeof, kept)) + ENTRY_BYTES
