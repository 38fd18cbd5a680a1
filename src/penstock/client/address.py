"""Where brokers are."""

from __future__ import annotations

from typing import NamedTuple


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """`host:port,host:port`. ValueError with what is wrong with it."""
    found = tuple(_parse(part.strip()) for part in text.split(",") if part.strip())
    if not found:
        raise ValueError("no broker is named: write host:port")
    return found


def _parse(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 0x10000:
        raise ValueError(f"{text!r} is not a broker's address: write host:port")
    return Address(host, int(port))
