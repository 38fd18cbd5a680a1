"""Quotas of new connections per second and address.

A connection beyond the quota is accepted by the system, not read, and closed once the address is within its quota again
or after a second, as in Kafka: a client that connects in a loop is slowed down.
"""

from __future__ import annotations

import socket

from penstock.broker.quotas.meters import Meters
from penstock.broker.quotas.rate import SAMPLE_MS, Rate
from penstock.model.text.address import canonical_address, literal


def resolve(host: str) -> str | None:
    """The address of a host, None if there is none. Waits for the name service: not on the event loop."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    by_family = sorted(found, key=lambda entry: entry[0] != socket.AF_INET)
    return literal(str(by_family[0][4][0]))


class AddressQuotas:
    """Limits and meters by address."""

    def __init__(self) -> None:
        self._limits: dict[str | None, float] = {}
        self._meters: Meters[str, Rate] = Meters(Rate)

    def __bool__(self) -> bool:
        return bool(self._limits)

    def set_limit(self, address: str | None, limit: float | None) -> None:
        """Set a limit, or remove it with None; an address of None is the default."""
        if limit is None:
            self._limits.pop(address, None)
        else:
            self._limits[address] = limit

    def connected(self, host: str, now_ms: int) -> int:
        """Count a connection; returns the milliseconds after which it is to be closed, 0 to accept it."""
        address = canonical_address(host)
        if address not in self._limits:
            address = address.partition("%")[0]  # an address of a link, which is meant without it, too
        limit = self._limits.get(address, self._limits.get(None))
        if limit is None:
            return 0
        meter = self._meters.get(address, limit, now_ms)
        wait_ms = min(meter.charge(1.0, now_ms), SAMPLE_MS)
        if wait_ms:
            meter.add(-1.0, now_ms)  # it is turned away
        return wait_ms
