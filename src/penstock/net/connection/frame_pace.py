"""The pace of a frame under way: whether its bytes come fast enough for the memory that they hold.

A frame has some seconds to spare. Time takes them away while the connection is read, and bytes give them back at the
least rate, up to where it began: a client that stops, or sends a byte now and then, has no more than those seconds,
however fast it was before.
"""

from __future__ import annotations


class FramePace:
    """The pace of one frame, from the first time that it is looked at. Moments are on the connection's reading clock,
    which stands still while the broker does not read."""

    __slots__ = ("_filled", "_moment", "_spare_seconds")

    def __init__(self, filled: int, moment: float, spare_seconds: float) -> None:
        self._filled = filled
        self._moment = moment
        self._spare_seconds = spare_seconds

    def is_too_slow(self, filled: int, moment: float, bytes_per_second: int, spare_seconds_max: float) -> bool:
        """Look at the frame again, with so many bytes in it by now."""
        gained = (filled - self._filled) / bytes_per_second
        self._spare_seconds = min(spare_seconds_max, self._spare_seconds + gained) - (moment - self._moment)
        self._filled, self._moment = filled, moment
        return self._spare_seconds < 0
