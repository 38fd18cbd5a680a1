"""Log lines that a client can cause as often as it likes: the first ones of a kind each minute, and how many more.

Without this limit a client in a retry loop would fill the disk; without the line an operator would see an error counter
rise, and not which client is the cause. One line of a kind is enough where all of them say the same. Where each has a
text of its own, such as those about bad connections, more of them are worth reading (`lines_max`). Where clients choose
how many kinds there are, such as by their addresses, all kinds together have a limit (`total_max`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from typing import Final

INTERVAL_S: Final = 60.0
KINDS_MAX: Final = 1_000  # different kinds remembered; when there are more, they are forgotten and logged again
STRANGERS_LINES_MAX: Final = 100
"""Lines a minute about connections of strangers, of each door."""
NAME_LENGTH_MAX: Final = 249
"""Of a name that a client chooses, as a group's: as much of it is logged as the name of a topic may have."""
REFUSED_LINES_MAX: Final = 1_000
"""Lines a minute about refused topics, whose names are the client's: one request may have tens of thousands."""


class _Kind:
    """A minute of one kind: when it ends, the lines that it had, and how many of them were logged."""

    __slots__ = ("count", "logged", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.count = 0
        self.logged = 0


class Repeats:
    """The repeated lines of one logger."""

    def __init__(
        self,
        logger: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
        *,
        lines_max: int = 1,
        total_max: int | None = None,
    ) -> None:
        self._logger = logger
        self._clock = clock
        self._lines_max = lines_max
        self._total_max = total_max
        self._total = _Kind(0.0)
        self._kinds: dict[Hashable, _Kind] = {}

    def warning(self, kind: Hashable, message: str, *values: object) -> None:
        self._write(self._logger.warning, kind, message, values)

    def info(self, kind: Hashable, message: str, *values: object) -> None:
        self._write(self._logger.info, kind, message, values)

    def _write(self, write: Callable[..., None], kind: Hashable, message: str, values: tuple[object, ...]) -> None:
        now = self._clock()
        known = self._kinds.get(kind)
        if known is None or now >= known.until:
            left_out = 0 if known is None else known.count - known.logged
            if len(self._kinds) >= KINDS_MAX:
                self._kinds.clear()
            known = self._kinds[kind] = _Kind(now + INTERVAL_S)
            if left_out > 0:
                message += " (and %d times more since this was last logged)"
                values = (*values, left_out)
        known.count += 1
        if known.count <= self._lines_max:
            if self._has_room(write, now):
                known.logged += 1
                write(message, *values)
        elif known.count == self._lines_max + 1 and self._lines_max > 1 and self._has_room(write, now):
            write("%d such lines within a minute; further ones are counted, not logged", self._lines_max)

    def _has_room(self, write: Callable[..., None], now: float) -> bool:
        """Whether all kinds together may have another line; the first that may not is told."""
        if self._total_max is None:
            return True
        if now >= self._total.until:
            self._total = _Kind(now + INTERVAL_S)
        self._total.count += 1
        if self._total.count == self._total_max + 1:
            write("%d such lines within a minute; further ones are counted, not logged", self._total_max)
        return self._total.count <= self._total_max
