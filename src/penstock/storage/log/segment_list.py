"""The segments of one log, oldest first.

The tuple is replaced, never changed in place: a reader in a thread takes it once and goes on with that, whatever
retention, compaction or a roll do meanwhile. A segment that left the list stays readable through a pinned descriptor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from penstock.storage.segment.segment import Segment

_base_offset = attrgetter("base_offset")


class SegmentList:
    """`all` may be read by any thread; the event loop is the only one to replace it."""

    __slots__ = ("all",)

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.all: tuple[Segment, ...] = tuple(segments)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.all)

    def add(self, segment: Segment) -> None:
        """A new active segment; the one before it ends where this begins, whatever offsets are missing between."""
        if self.all:
            self.all[-1].end_offset = segment.base_offset
        self.all = (*self.all, segment)

    def drop_front(self, count: int) -> tuple[Segment, ...]:
        """Forget the oldest segments; returns them."""
        dropped, self.all = self.all[:count], self.all[count:]
        return dropped

    def with_replaced(self, replaced: Sequence[Segment], segment: Segment) -> tuple[Segment, ...]:
        """The list as it will be with one segment in the place of these neighbours."""
        at = self.all.index(replaced[0])
        count = len(replaced)
        assert self.all[at : at + count] == tuple(replaced)
        return (*self.all[:at], segment, *self.all[at + count :])

    def drop_unused_indexes(self) -> None:
        """Let go of the indexes of sealed segments that no reader used since the last call."""
        for segment in self.all[:-1]:
            if not segment.index_written:
                continue
            if segment.index.used:
                segment.index.used = False
            elif segment.index.live is not None or segment.index.lower is not None:
                segment.drop_index()
            if segment.aborted is not None:
                if segment.aborted.used:
                    segment.aborted.used = False
                elif segment.aborted.is_whole:
                    segment.drop_aborted()

    def clear(self) -> tuple[Segment, ...]:
        """Forget everything. Returns the segments that were there."""
        dropped, self.all = self.all, ()
        return dropped


def index_of_holder(segments: tuple[Segment, ...], offset: int) -> int:
    """Index of the last segment that begins at or before `offset`; 0 if none does."""
    return max(0, bisect_right(segments, offset, key=_base_offset) - 1)
