"""A circuit breaker for each address: a broker that repeatedly failed to answer is not asked for a while.

    closed      the broker is asked
    open        it is not asked until its pause is over
    half open   the pause is over: the next attempt decides, and a failure doubles the pause

A dead machine does not refuse connections, it stays silent: without a breaker, every request that might go there would
wait for its whole timeout before it tries the next broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.client.address import Address
from penstock.client.patience import USUAL, Patience

FAILURES_MAX: Final = 3


@dataclass(slots=True)
class _Trouble:
    pause_s: float
    failures: int = 0
    until: float = 0.0


class Breaker:
    """The breakers of all addresses of a client. Times are seconds of any clock that the caller uses."""

    def __init__(self, patience: Patience = USUAL) -> None:
        self._patience = patience
        self._troubles: dict[Address, _Trouble] = {}

    def pause_left(self, address: Address, now: float) -> float:
        """Seconds until the address may be asked again; 0 if it may be asked now."""
        trouble = self._troubles.get(address)
        return 0.0 if trouble is None or trouble.failures < FAILURES_MAX else max(0.0, trouble.until - now)

    def succeeded(self, address: Address) -> None:
        self._troubles.pop(address, None)

    def failed(self, address: Address, now: float) -> None:
        trouble = self._troubles.setdefault(address, _Trouble(self._patience.away_s))
        trouble.failures += 1
        if trouble.failures < FAILURES_MAX:
            return
        if trouble.failures > FAILURES_MAX:
            trouble.pause_s = min(trouble.pause_s * 2, self._patience.away_s_max)
        trouble.until = now + trouble.pause_s
