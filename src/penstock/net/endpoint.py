"""Addresses: the one that clients are given, and the two ends of a connection."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address as clients see it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Peer:
    """The other side of a connection. `local` is the address at which the client reached us."""

    connection_id: int
    host: str
    port: int
    local: Endpoint


def is_every_address(host: str) -> bool:
    """Whether this is 0.0.0.0 or ::, to which no client can connect."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
