"""A circuit breaker for each address: who has not answered several times is left alone for a while.

    closed      it is asked
    open        it is not, until its pause is over
    half open   the pause is over: the next attempt decides, and a failure doubles the pause

A dead machine does not refuse, it says nothing: without this, every request that might go there would wait for the
whole of its timeout before it tries the next broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.client.address import Address

FAILURES_MAX: Final = 3
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 8.0


@dataclass(slots=True)
class _Trouble:
    failures: int = 0
    pause_s: float = FIRST_PAUSE_S
    until: float = 0.0


class Breaker:
    """For all addresses of a client. Times are whatever clock the caller uses, in seconds."""

    def __init__(self) -> None:
        self._troubles: dict[Address, _Trouble] = {}

    def pause_left(self, address: Address, now: float) -> float:
        """0 if it may be asked."""
        trouble = self._troubles.get(address)
        return 0.0 if trouble is None or trouble.failures < FAILURES_MAX else max(0.0, trouble.until - now)

    def succeeded(self, address: Address) -> None:
        self._troubles.pop(address, None)

    def failed(self, address: Address, now: float) -> None:
        trouble = self._troubles.setdefault(address, _Trouble())
        trouble.failures += 1
        if trouble.failures < FAILURES_MAX:
            return
        if trouble.failures > FAILURES_MAX:
            trouble.pause_s = min(trouble.pause_s * 2, LONGEST_PAUSE_S)
        trouble.until = now + trouble.pause_s
