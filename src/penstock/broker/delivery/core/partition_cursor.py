"""How far a subscription is in one partition: what was sent and not answered, and what is done.

    committed ≤ every unacknowledged offset < next_offset
    done      everything below next_offset that is not unacknowledged, and the ranges of `done_ahead`

The committed position is the lowest offset that is not done. Offsets that do not exist (compaction, markers, aborted
transactions) and expired messages are done as soon as `next_offset` has passed them.
"""

from __future__ import annotations

from penstock.broker.delivery.core.member import Flight
from penstock.broker.delivery.core.position import COUNTED_MAX, Counted, Position, Range


class Progress:
    """One partition of one subscription.

    `counted_ahead` are messages at or above `next_offset` that were sent before the position was stored, and how
    often. `has_counts` says that some unacknowledged message may have a delivery count that has to be stored.
    """

    __slots__ = (
        "_done_ahead", "counted_ahead", "done_range_count", "has_counts", "next_offset", "partition", "unacked",
    )  # fmt: skip

    def __init__(self, partition: int, position: Position) -> None:
        self.partition = partition
        self.next_offset = position.offset
        self._done_ahead: list[Range] = list(position.done)
        self.counted_ahead: list[Counted] = list(position.counted)
        self.has_counts = bool(position.counted)
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

    def count_ahead(self, offset: int) -> int:
        """How often a message that comes next was sent before the position was stored."""
        for first, last, count in self.counted_ahead:
            if offset <= last:
                return count if first <= offset else 0
        return 0

    def sent(self, offsets: list[int], flight: Flight) -> None:
        """New messages, in their order; `next_offset` moves behind them."""
        self.unacked.update(dict.fromkeys(offsets, flight))
        self.passed(offsets[-1] + 1)

    def passed(self, offset: int) -> None:
        """Everything below was looked at."""
        self.next_offset = max(self.next_offset, offset)
        while self._done_ahead and self._done_ahead[0].last < self.next_offset:
            del self._done_ahead[0]
        while self.counted_ahead and self.counted_ahead[0].last < self.next_offset:
            del self.counted_ahead[0]

    def within(self, first: int, last: int) -> list[int]:
        """The unacknowledged offsets of a range, however long that is."""
        unacked = self.unacked
        if last - first < len(unacked):
            return [offset for offset in range(first, last + 1) if offset in unacked]
        return [offset for offset in unacked if first <= offset <= last]

    def position(self) -> Position:
        """What has to be stored so that nothing that is done comes again, and counts go on."""
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
        return Position(self.committed, tuple(done), self._counted() if self.has_counts else ())

    def _counted(self) -> tuple[Counted, ...]:
        """Messages that were sent in vain. Those that are in flight for the first time are not among them: a write
        for every message sent would be too much.
        """
        found: list[Counted] = []
        for offset, flight in self.unacked.items():
            count = flight.count
            if count < (2 if flight.member is not None else 1):
                continue
            if found and found[-1].last == offset - 1 and found[-1].deliveries == count:
                found[-1] = Counted(found[-1].first, offset, count)
            else:
                found.append(Counted(offset, offset, count))
        for first, last, count in self.counted_ahead:
            found.append(Counted(max(first, self.next_offset), last, count))
        self.has_counts = bool(found)
        if len(found) > COUNTED_MAX:
            found = sorted(sorted(found, key=lambda one: -one.deliveries)[:COUNTED_MAX])
        return tuple(found)
