"""The regions of a segment whose CRCs this process has checked.

Bytes that it wrote or recovered itself lie above `trusted_from`. Below it, regions are added as they are first served
and merged when they touch, so that a reader that goes through a segment leaves one entry behind, not thousands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class VerifiedRegions:
    """Half-open regions, sorted, apart from each other. Replaced as a whole: any thread may read and add."""

    __slots__ = ("_bounds", "trusted_from")

    def __init__(self, trusted_from: int) -> None:
        self.trusted_from = trusted_from
        self._bounds: tuple[int, ...] = ()  # start, end, start, end…

    def covers(self, start: int, end: int) -> bool:
        if start >= self.trusted_from:
            return True
        bounds = self._bounds
        end = min(end, self.trusted_from)
        before = bisect_right(bounds, start)
        return before % 2 == 1 and end <= bounds[before]

    def add(self, start: int, end: int) -> None:
        """Add a region.

        If two threads add at once, one region may be lost; it is then checked again, which is harmless.
        """
        bounds = self._bounds
        first = bisect_left(bounds, start)
        last = bisect_right(bounds, end)
        opening = (start,) if first % 2 == 0 else ()
        closing = (end,) if last % 2 == 0 else ()
        self._bounds = (*bounds[:first], *opening, *closing, *bounds[last:])
