"""The leader epochs of one log and the offset where each began: the answers of OffsetForLeaderEpoch.

Derived from the batches, which carry their epoch, and kept in snapshots because retention removes batches. An
epoch under which nothing was written gives way to the next one that starts at the same offset, as in Kafka.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from penstock.model.ids import NO_EPOCH

EpochEntry = tuple[int, int]  # epoch, start offset


class Epochs:
    """Ascending epochs with ascending start offsets. The list is replaced, never changed: threads may read it."""

    __slots__ = ("entries",)

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self.entries: Sequence[EpochEntry] = ()
        for epoch, start in sorted(entries):
            self.begin(epoch, start)

    @property
    def latest(self) -> int:
        return self.entries[-1][0] if self.entries else NO_EPOCH

    def begin(self, epoch: int, start_offset: int) -> None:
        """`epoch` starts at `start_offset` unless it already runs; epochs never go back."""
        if epoch < 0 or epoch <= self.latest:
            return
        kept = [entry for entry in self.entries if entry[1] < start_offset]
        self.entries = (*kept, (epoch, start_offset))

    def end_of(self, epoch: int, log_end: int) -> EpochEntry:
        """(largest epoch <= the given one, where it ends); (-1, -1) for one that is not known.

        An epoch from before the first that is known ended where that begins, as in Kafka, even if it never existed.
        """
        if epoch == NO_EPOCH or epoch > self.latest or not self.entries:
            return NO_EPOCH, -1
        if epoch == self.latest:
            return epoch, log_end
        above = bisect_right(self.entries, epoch, key=lambda entry: entry[0])
        floor = self.entries[above - 1][0] if above else epoch
        return floor, self.entries[above][1]

    def at(self, offset: int) -> int:
        """The epoch of the record at `offset`."""
        above = bisect_right(self.entries, offset, key=lambda entry: entry[1])
        return self.entries[above - 1][0] if above else NO_EPOCH

    def cut_front(self, log_start: int) -> bool:
        """Forget epochs that ended at or before `log_start`; the one it lies in now starts there."""
        above = bisect_right(self.entries, log_start, key=lambda entry: entry[1])
        if above == 0 or (above == 1 and self.entries[0][1] == log_start):
            return False
        self.entries = ((self.entries[above - 1][0], log_start), *self.entries[above:])
        return True
