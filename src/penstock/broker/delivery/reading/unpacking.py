"""Large batches unpacked for all subscriptions of a node: a few kilobytes of a client may stand for 256 MiB.

They are unpacked one after the other, in a thread of their own, so that reads from disk do not wait behind them. What
feeds keep until they have read it is bounded for all of them together: the feed that was read longest ago loses its
batch and unpacks it again when it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from penstock.model.limits import STORED_DECOMPRESSED_BYTES_MAX
from penstock.runtime.fair_threads import FairThreads

T = TypeVar("T")


class Reader(Protocol):
    """What was read of a partition and is not sent yet."""

    @property
    def unpacked_bytes(self) -> int: ...
    def forget(self) -> None: ...


class Unpacking:
    """One for all subscriptions. Loop thread."""

    def __init__(self, held_bytes_max: int = STORED_DECOMPRESSED_BYTES_MAX) -> None:
        self._held_bytes_max = held_bytes_max
        self._thread = FairThreads(1, "penstock-unpack")
        self._held: dict[Reader, int] = {}  # bytes; the feed that was read longest ago comes first
        self.held_bytes = 0

    def close(self) -> None:
        self._thread.close()

    async def run(self, owner: str, function: Callable[[], T]) -> T:
        """Call a function that unpacks what is too large for several threads at a time. Owners take turns."""
        return await self._thread.run(owner, function)

    def note(self, feed: Reader) -> bool:
        """Count what a feed keeps, and let others drop theirs if it is too much together. False if it keeps nothing."""
        self.release(feed)
        size = feed.unpacked_bytes
        if not size:
            return False
        self._held[feed] = size
        self.held_bytes += size
        while self.held_bytes > self._held_bytes_max and len(self._held) > 1:
            oldest = next(iter(self._held))
            self.release(oldest)
            oldest.forget()
        return True

    def release(self, feed: Reader) -> None:
        """Count a feed no longer: it has read or dropped its batch, or is about to go to the next."""
        self.held_bytes -= self._held.pop(feed, 0)
