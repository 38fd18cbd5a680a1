"""The undecided transactions of one log, which limit how far read_committed consumers may go.

    offsets   … 40 ……… 57 ……… 63 ……… 70          marker 63 ends the transaction that began at 40
                 │       │       └ not yet flushed: 40 is still undecided
                 │       └ open: undecided
                 └ last stable offset

A transaction is undecided while it is open, and after that until its marker is flushed: what a crash can take back
decides nothing. Costs O(1) for each batch and marker of a transaction, and nothing for others. Loop thread. What
producers may write is the business of `producer_state`, finding aborted transactions that of `aborted_index`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable
from operator import itemgetter

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.storage.segment.aborted_index import AbortedEntry


class Transactions:
    """The open ones by producer id, and those whose markers are not flushed. Without either, every end is stable."""

    __slots__ = ("ending", "open")

    def __init__(self, starts: Iterable[tuple[int, int]] = ()) -> None:
        """`starts`: producer ids and first offsets of open transactions."""
        # In the order of their first offsets, since new ones begin at the end of the log.
        self.open = OrderedDict(sorted(starts, key=lambda item: item[1]))
        # (offset of the marker, first offset), both rising: a transaction that began after one whose marker comes
        # later is covered by it.
        self.ending: list[tuple[int, int]] = []

    def begin(self, producer_id: int, offset: int) -> None:
        """Note a batch of a transaction in the log; it is the first if none is open."""
        if producer_id not in self.open:
            self.open[producer_id] = offset

    def end(self, producer_id: int, marker_offset: int, *, is_commit: bool) -> AbortedEntry | None:
        """Note a marker in the log; returns what readers must know if it aborts something."""
        start = self.open.pop(producer_id, None)
        if start is None:
            return None
        while self.ending and self.ending[-1][1] >= start:
            self.ending.pop()
        self.ending.append((marker_offset, start))
        if is_commit:
            return None
        stable = next(iter(self.open.values()), marker_offset + 1)
        return AbortedEntry(producer_id, start, marker_offset, stable)

    def follow(self, header: BatchHeader, marker: Marker | None) -> AbortedEntry | None:
        """Note a batch found in the log; `marker` is what is in a control batch."""
        if marker is not None:
            return self.end(header.producer_id, header.base_offset, is_commit=marker.is_commit)
        if header.is_transactional and not header.is_control:
            self.begin(header.producer_id, header.base_offset)
        return None

    def stable_end(self, below: int) -> int:
        """The last stable offset of a reader that sees everything below an offset."""
        end, ending = below, self.ending
        if ending and ending[-1][0] >= below:
            # The first one whose marker is not seen has the lowest start of all those.
            first = ending[0] if ending[0][0] >= below else ending[bisect_left(ending, below, key=itemgetter(0))]
            end = min(end, first[1])
        if self.open:
            end = min(end, next(iter(self.open.values())))
        return end

    def forget_ended(self, below: int) -> None:
        """Forget ended transactions: stable ends at or below this offset are not asked for any more."""
        ending = self.ending
        del ending[: bisect_left(ending, below, key=itemgetter(0))]
