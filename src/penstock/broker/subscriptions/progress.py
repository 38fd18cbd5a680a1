"""How far a subscription is in one partition: what was sent and not answered, and what is done.

    committed ≤ every unacknowledged offset < next_offset
    done      everything below next_offset that is not unacknowledged, and the ranges of `done_ahead`

The committed position is the lowest offset that is not done. Offsets that do not exist (compaction, markers, aborted
transactions) and expired messages are done as soon as `next_offset` has passed them.
"""

from __future__ import annotations

from penstock.broker.subscriptions.member import Flight
from penstock.broker.subscriptions.position import Position, Range


class Progress:
    """One partition of one subscription."""

    __slots__ = ("_done_ahead", "done_range_count", "next_offset", "partition", "unacked")

    def __init__(self, partition: int, position: Position) -> None:
        self.partition = partition
        self.next_offset = position.offset
        self._done_ahead: list[Range] = list(position.done)
        # In the order of their offsets: each is added when it is first sent and keeps its place when sent again.
        self.unacked: dict[int, Flight] = {}
        self.done_range_count = len(position.done)

    @property
    def committed(self) -> int:
        return next(iter(self.unacked), self.next_offset)

    def is_done_ahead(self, offset: int) -> bool:
        return any(first <= offset <= last for first, last in self._done_ahead)

    @property
    def has_done_ahead(self) -> bool:
        return bool(self._done_ahead)

    def sent(self, offsets: list[int], flight: Flight) -> None:
        """New messages, in their order; `next_offset` moves behind them."""
        self.unacked.update(dict.fromkeys(offsets, flight))
        self.passed(offsets[-1] + 1)

    def passed(self, offset: int) -> None:
        """Everything below was looked at."""
        self.next_offset = max(self.next_offset, offset)
        while self._done_ahead and self._done_ahead[0].last < self.next_offset:
            del self._done_ahead[0]

    def within(self, first: int, last: int) -> list[int]:
        """The unacknowledged offsets of a range, however long that is."""
        unacked = self.unacked
        if last - first < len(unacked):
            return [offset for offset in range(first, last + 1) if offset in unacked]
        return [offset for offset in unacked if first <= offset <= last]

    def position(self) -> Position:
        """What has to be stored so that nothing that is done comes again."""
        done: list[Range] = []
        after = -1
        for offset in self.unacked:
            if after >= 0 and offset > after:
                done.append(Range(after, offset - 1))
            after = offset + 1
        if 0 <= after < self.next_offset:
            done.append(Range(after, self.next_offset - 1))
        done += self._done_ahead
        self.done_range_count = len(done)
        return Position(self.committed, tuple(done))
