"""IP addresses as text: the one form of each, and what stands for it where clients are counted.

A listener at `::` sees clients of IPv4 as `::ffff:10.0.0.7`. Everything behind a door knows them as `10.0.0.7`.
"""

from __future__ import annotations

import functools
import ipaddress
from typing import Final

_MAPPED: Final = "::ffff:"
_SOURCE_BITS: Final = 64


def plain_address(address: str) -> str:
    """The address of a peer as its socket tells it, with IPv4 inside IPv6 as IPv4."""
    return (literal(address) or address) if address.startswith(_MAPPED) else address


def literal(text: str) -> str | None:
    """An address in its one form: IPv6 can be written in several ways, and IPv4 inside it. None for a name."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


@functools.lru_cache(maxsize=10_000)
def canonical_address(text: str) -> str:
    """The one form of an address; a name, or what stands for every address, as it is."""
    return literal(text) or text


def is_address_of(address: str, named: str) -> bool:
    """Whether an address is the one that is named, in whatever form.

    One of a link (`fe80::1%eth0`) is meant by its address alone (`fe80::1`), too, whichever link it is.
    """
    given, meant = canonical_address(address), canonical_address(named)
    return given == meant or given.partition("%")[0] == meant


def source_of(address: str) -> str:
    """What stands for an address: a host has 2^64 addresses of IPv6, so it is their network."""
    if ":" not in address:
        return address
    plain = canonical_address(address.partition("%")[0])
    if ":" not in plain:
        return plain
    return str(ipaddress.ip_network((plain, _SOURCE_BITS), strict=False).network_address)
