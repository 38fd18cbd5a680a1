"""Queue of complete requests that wait for an earlier one of their connection."""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.net.flow_control import Account

OVERHEAD_BYTES: Final = 100
"""Memory of a waiting request besides its bytes."""


_EMPTY: Final[deque[bytearray]] = deque()
"""The queue of most connections, which have none: an empty deque takes 760 bytes."""


class RequestQueue:
    """The queue of one connection. It counts the memory of requests, for the connection and for all together."""

    __slots__ = ("_account", "frames", "held_bytes")

    def __init__(self, account: Account) -> None:
        self._account = account
        self.frames = _EMPTY
        """Oldest first. Changed here only; the connection asks it for every request whether something waits."""
        self.held_bytes = 0

    def put(self, frame: memoryview) -> None:
        """Keep a copy: the memory of the frame is reused."""
        if self.frames is _EMPTY:
            self.frames = deque()
        self.frames.append(bytearray(frame))
        self._change(len(frame) + OVERHEAD_BYTES)

    def take(self) -> memoryview:
        frame = self.frames.popleft()
        self._change(-len(frame) - OVERHEAD_BYTES)
        return memoryview(frame)

    def clear(self) -> None:
        self.frames = _EMPTY
        self._change(-self.held_bytes)

    def move(self, account: Account) -> None:
        """Count at another account from now on; the earlier one is about to be closed, or has nothing of it."""
        self._account = account
        account.change(self.held_bytes)

    def _change(self, delta: int) -> None:
        self.held_bytes += delta
        self._account.change(delta)
