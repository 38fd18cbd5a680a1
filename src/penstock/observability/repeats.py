"""Log lines that a client can cause as often as it likes: each kind is logged once a minute, with a count of repeats.

Without this limit a client in a retry loop would fill the disk; without the line an operator would see an error counter
rise, and not which client is the cause.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable

INTERVAL_S = 60.0
KINDS_MAX = 1_000  # different kinds remembered; when there are more, they are forgotten and logged again


class Repeats:
    """The repeated lines of one logger."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._logged: dict[Hashable, list[float]] = {}  # when it may be logged again, and how often it was not

    def warning(self, kind: Hashable, message: str, *values: object) -> None:
        now = self._clock()
        known = self._logged.get(kind)
        if known is not None and now < known[0]:
            known[1] += 1
            return
        if len(self._logged) >= KINDS_MAX:
            self._logged.clear()
        self._logged[kind] = [now + INTERVAL_S, 0]
        if known is not None and known[1]:
            message += " (and %d times more since this was last logged)"
            values = (*values, int(known[1]))
        self._logger.warning(message, *values)
