"""The part of a stored position that lies ahead: offsets that a restart has not reached again yet.

It shrinks as the cursor moves over it, and is empty from then on.
"""

from __future__ import annotations

from penstock.broker.progress.position import Counted, Position, Range


class StoredAhead:
    """Ranges that are done, and ranges of messages that were sent and not done, in the order of their offsets."""

    __slots__ = ("counted", "done")

    def __init__(self, position: Position) -> None:
        self.done: list[Range] = list(position.done)
        self.counted: list[Counted] = list(position.counted)

    def __bool__(self) -> bool:
        return bool(self.done or self.counted)

    def is_done(self, offset: int) -> bool:
        return any(first <= offset <= last for first, last in self.done)

    def count(self, offset: int) -> int:
        """How often the next message had been sent when the position was stored."""
        for first, last, count in self.counted:
            if offset <= last:
                return count if first <= offset else 0
        return 0

    def trim(self, next_offset: int) -> None:
        """Forget everything below the next offset."""
        while self.done and self.done[0].last < next_offset:
            del self.done[0]
        while self.counted and self.counted[0].last < next_offset:
            del self.counted[0]

    def done_from(self, next_offset: int) -> list[Range]:
        """The ranges that are done from `next_offset` on; of a range that contains it only the rest counts."""
        return [Range(max(first, next_offset), last) for first, last in self.done]

    def counted_from(self, next_offset: int) -> list[Counted]:
        return [Counted(max(first, next_offset), last, count) for first, last, count in self.counted]
