"""Log lines that a client can cause as often as it likes: each kind is told once a minute, with how often it happened.

Without it a client in a retry loop fills the disk with its own mistake; without the line an operator sees an error
counter rise and not whose it is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable

INTERVAL_S = 60.0
KINDS_MAX = 1_000  # different kinds remembered; when there are more, they are forgotten and told again


class Repeats:
    """One per logger that needs it."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._told: dict[Hashable, list[float]] = {}  # when it may be told again, how often it was not

    def warning(self, kind: Hashable, message: str, *values: object) -> None:
        now = self._clock()
        told = self._told.get(kind)
        if told is not None and now < told[0]:
            told[1] += 1
            return
        if len(self._told) >= KINDS_MAX:
            self._told.clear()
        self._told[kind] = [now + INTERVAL_S, 0]
        if told is not None and told[1]:
            message += " (and %d times more since this was last told)"
            values = (*values, int(told[1]))
        self._logger.warning(message, *values)
