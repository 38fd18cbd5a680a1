"""Backoff between attempts to connect."""

from __future__ import annotations

import random

FIRST_S, LONGEST_S = 0.05, 5.0


class Backoff:
    """Pauses that double up to five seconds, with a little jitter so that many clients do not come at once."""

    def __init__(self) -> None:
        self._pause_s = FIRST_S

    def next_s(self) -> float:
        pause, self._pause_s = self._pause_s, min(self._pause_s * 2, LONGEST_S)
        return pause * random.uniform(0.8, 1.2)

    def reset(self) -> None:
        self._pause_s = FIRST_S
