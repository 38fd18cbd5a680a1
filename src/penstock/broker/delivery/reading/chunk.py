"""Messages that were read of a partition and are ready to be sent."""

from __future__ import annotations

NEVER = 1 << 62  # a message that does not expire


class Chunk:
    """Messages of one partition in the order of their offsets, some of which may be dealt already (`start`)."""

    __slots__ = ("expired", "expiries", "first_timestamp", "items", "keys", "next_offset", "offsets",
                 "start")  # fmt: skip

    def __init__(self, next_offset: int) -> None:
        self.next_offset = next_offset  # of the first record behind it
        self.offsets: list[int] = []
        self.items: list[bytes] = []
        self.keys: list[bytes | None] = []
        self.expiries: list[int] | None = None  # None: none of them expires
        self.expired = 0
        self.first_timestamp = -1
        self.start = 0

    @property
    def is_empty(self) -> bool:
        return self.start >= len(self.offsets)

    def drop_expired(self, now_ms: int) -> int:
        """What has expired since it was read; how many."""
        if self.expiries is None:
            return 0
        kept = [index for index in range(self.start, len(self.offsets)) if self.expiries[index] > now_ms]
        dropped = len(self.offsets) - self.start - len(kept)
        if dropped:
            self.offsets = [self.offsets[index] for index in kept]
            self.items = [self.items[index] for index in kept]
            self.keys = [self.keys[index] for index in kept]
            self.expiries = [self.expiries[index] for index in kept]
            self.start = 0
        return dropped
