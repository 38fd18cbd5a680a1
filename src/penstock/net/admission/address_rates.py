"""The rate of new connections by address: a token bucket for each address that has connected lately.

A bucket that is full again is forgotten, so that memory is held for the addresses of the last seconds only.
"""

from __future__ import annotations

from typing import Final

BURST_SECONDS: Final = 2.0
"""An address that was quiet may open at once what it may open in this time."""
SWEPT_FROM: Final = 1_000


def is_local(host: str) -> bool:
    """Whether this is a client on the same machine; those of unix sockets have no address."""
    return host in ("127.0.0.1", "", "::1") or host.startswith("127.")


class AddressRates:
    """Buckets of one admission; `per_second` is 0 if there is no limit."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._burst = max(1.0, per_second * BURST_SECONDS)
        self._buckets: dict[str, tuple[float, float]] = {}  # connections that are left, and when that was so
        self._swept = 0.0

    def take(self, host: str, now: float) -> bool:
        """Whether the address may open one more connection now; if so, it is counted."""
        if not self._per_second or is_local(host):
            return True
        left, since = self._buckets.get(host, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._per_second)
        if left < 1.0:
            return False
        self._buckets[host] = (left - 1.0, now)
        if len(self._buckets) > SWEPT_FROM and now - self._swept > BURST_SECONDS:
            self._sweep(now)
        return True

    def _sweep(self, now: float) -> None:
        self._swept = now
        oldest = now - BURST_SECONDS  # by then every bucket is full
        self._buckets = {host: bucket for host, bucket in self._buckets.items() if bucket[1] > oldest}
