"""Addresses: the one that clients are given, and the two ends of a connection."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final, NamedTuple

from penstock.model.text.address import plain_address


class Endpoint(NamedTuple):
    """An address as clients see it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


NOWHERE: Final = Endpoint("", 0)


class Peer(NamedTuple):
    """The other side of a connection. `local` is the address at which the client reached us.

    `certificate` is what the client showed in a TLS handshake, in DER; None if it showed none.
    """

    connection_id: int
    host: str
    port: int
    local: Endpoint
    certificate: bytes | None = None


def endpoint_of(name: object) -> Endpoint:
    """The address of an end of a connection, of the name that its socket has; NOWHERE for one of a unix socket.

    All doors read it here, so that a client has the same address at each, whichever address a door listens at.
    """
    return Endpoint(*host_and_port(name)) if isinstance(name, tuple) else NOWHERE


def host_and_port(name: object) -> tuple[str, int]:
    """The same without an object of its own, for each connection that is made."""
    if not isinstance(name, tuple):
        return NOWHERE
    found: tuple[str, int] = name if len(name) == 2 else (plain_address(name[0]), name[1])  # of IPv6 there are four
    return found


def bracketed(host: str) -> str:
    """The host as it stands before a port: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def is_every_address(host: str) -> bool:
    """Whether this is 0.0.0.0 or ::, to which no client can connect."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def is_one_address(host: str) -> bool:
    """Whether this is a single address, spelled as sockets spell it: not a name, nor 0.0.0.0 or ::."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return str(address) == host and not address.is_unspecified
