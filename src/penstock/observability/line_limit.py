"""Log lines that any stranger can cause, such as those about bad connections.

The first ones of a minute are logged, the others counted, and the count is a line of its own. `observability.repeats`
is for lines of which one of a kind is enough; here each has its own text, and the first ones are worth reading.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

INTERVAL_S: Final = 60.0
LINES_PER_INTERVAL: Final = 100


class LineLimit:
    """The limited lines of one part. `write` is a method of its logger, such as `logger.warning`."""

    def __init__(
        self,
        write: Callable[..., None],
        *,
        count_max: int = LINES_PER_INTERVAL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._count_max = count_max
        self._clock = clock
        self._until = 0.0
        self._count = 0

    def write(self, message: str, *values: object) -> None:
        now = self._clock()
        if now >= self._until:
            left_out = self._count - self._count_max
            self._until, self._count = now + INTERVAL_S, 0
            if left_out > 0:
                self._write("%d more lines such as the next one were left out", left_out)
        self._count += 1
        if self._count <= self._count_max:
            self._write(message, *values)
        elif self._count == self._count_max + 1:
            self._write("%d such lines within a minute; further ones are counted, not logged", self._count_max)
