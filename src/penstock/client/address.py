"""Addresses of brokers."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.model.text.http_url import check_no_credentials

_OF_A_NETWORK = re.compile(r"[a-z][a-z0-9+-]*:[/@][^:]*")
"""The name of a network and a path, or a name that begins with @."""


class Address(NamedTuple):
    """The address of a broker. `port` is 0 where the host names a network without ports: unix:/path."""

    host: str
    port: int

    def __str__(self) -> str:
        if not self.port:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Parse `host:port,host:port`, or `unix:/path`. ValueError with the reason if it is malformed."""
    found = tuple(_parse(part.strip()) for part in text.split(",") if part.strip())
    if not found:
        raise ValueError("no broker is named: write host:port")
    return found


def _parse(text: str) -> Address:
    check_no_credentials(text)
    if _OF_A_NETWORK.fullmatch(text):
        return Address(text, 0)
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 0x10000:
        raise ValueError(f"{text!r} is not a broker's address: write host:port")
    return Address(host, int(port))
