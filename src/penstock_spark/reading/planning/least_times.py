"""The oldest times of stretches of a partition: where a bound above ends a range. Values in, values out.

Producers give the times, so a late record may be an old one, and only the records themselves tell from which offset on
all are later than some time. What was learned of them stays true as long as it is the same log: that gets longer, and
loses records, but none of its records changes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Final, NamedTuple

GRAIN: Final = 1000
"""Offsets of the shortest stretch, beyond those of one batch."""


class Seen(NamedTuple):
    """A batch, by which a log can be told from another one under the same names."""

    base_offset: int
    crc: int


class Stretch(NamedTuple):
    """What was found up to before `end`: the oldest time, and the batch that has it; None if there are no records."""

    end: int
    least_ms: int | None = None
    batch: Seen | None = None


class LeastTimes:
    """Of the offsets from `first` to before `end`.

    A stretch counts only if all later ones are younger: so the times rise from each stretch to the next.
    """

    def __init__(self, first: int) -> None:
        self.first = self.end = first
        self._ends, self._leasts = array("q"), array("q")

    def add(self, end: int, least_ms: int) -> None:
        """Go on to before `end`, with records of this time and later ones."""
        self.end = end
        ends, leasts = self._ends, self._leasts
        while leasts and leasts[-1] >= least_ms:
            ends.pop()
            leasts.pop()
        if leasts and end - (ends[-2] if len(ends) > 1 else self.first) <= GRAIN:
            ends[-1] = end
        else:
            ends.append(end)
            leasts.append(least_ms)

    def go_on(self, other: LeastTimes) -> None:
        """Add those of the offsets behind."""
        assert other.first == self.end
        for end, least_ms in zip(other._ends, other._leasts, strict=True):
            self.add(end, least_ms)
        self.end = other.end

    def end_of(self, time_ms: int) -> int:
        """The offset from which on all records are later than this time."""
        before = bisect_right(self._leasts, time_ms)
        return self._ends[before - 1] if before else self.first

    def __len__(self) -> int:
        """The number of stretches."""
        return len(self._ends)
