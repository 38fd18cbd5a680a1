"""Listeners by name, and how much of the world a node may be open to."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BeforeValidator, Field, field_validator

from penstock.config.settings.secret import Secrets
from penstock.config.settings.values import Section, Texts, upper
from penstock.model import limits

USERS: Final = "users"
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
Protocol = Annotated[Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], BeforeValidator(upper)]


class NamedAddress(NamedTuple):
    """One of Kafka's NAME://host:port; an empty host is every address."""

    name: str
    host: str
    port: int


class SecuritySettings(Section):
    """The protocol of doors, and whether one may be open to all (docs/security.md)."""

    protocol: Protocol = "PLAINTEXT"
    """Protocol of every door that `listeners.addresses` does not name: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL."""
    insecure: bool = False
    """Whether a door may be open to every client that reaches it, also on addresses that other machines reach."""
    users_file: Path | None = None
    """Users and tokens of a registry or an edge application, which have no meta.db; made with `penstock security user`
    and `penstock security token`, and read again when it changes. A node has its users in meta.db."""
    token_lifetime_ms: Annotated[int, Field(ge=limits.TOKEN_LIFETIME_MS_MIN, le=limits.TOKEN_LIFETIME_MS_MAX)] = (
        90 * 86_400_000
    )
    """Time for which a token of `penstock security token create` holds, unless it is made for another time."""
    authenticator: str = USERS
    """Who checks the passwords of PLAIN and of HTTP: `users`, the node's own, or an authenticator of another package
    (docs/extending.md)."""
    authenticator_options: Secrets = Field(default_factory=dict)
    """Options of that authenticator, by name. All count as secrets."""
    authenticator_timeout_ms: Annotated[int, Field(ge=1, le=60_000)] = 5_000
    """Time that it has for a password; then the login is refused."""
    authenticator_threads_max: Annotated[int, Field(ge=1, le=100)] = 8
    """Passwords that it checks at a time."""
    authenticator_remember_ms: Annotated[int, Field(ge=0, le=60_000)] = 10_000
    """Time for which a password that it has found right is not asked for again. Each request over HTTP has one."""


class ListenerSettings(Section):
    """Listeners by name, under Kafka's names (docs/security.md#listeners)."""

    addresses: str | None = None
    """Kafka's `listeners`: NAME://host:port, separated by commas. PUSH and HTTP name the doors of those protocols, all
    other names are listeners for Kafka clients. If it is not set, Kafka clients have one, at kafka.host and kafka.port.
    """
    advertised: str | None = None
    """Kafka's `advertised.listeners`: the address that the clients of a listener are given, NAME://host:port."""
    protocols: str | None = None
    """Kafka's `listener.security.protocol.map`: NAME:PROTOCOL, separated by commas. The names of protocols map to
    themselves."""
    overrides: Texts = Field(default_factory=dict)
    """Settings of one listener: Kafka's `listener.name.NAME.…`, such as external.ssl.client.auth: required."""

    @field_validator("addresses", "advertised")
    @classmethod
    def _are_addresses(cls, value: str | None) -> str | None:
        if value is not None:
            named_addresses(value)
        return value

    @field_validator("protocols")
    @classmethod
    def _are_protocols(cls, value: str | None) -> str | None:
        if value is not None:
            named_protocols(value)
        return value


def named_addresses(text: str) -> list[NamedAddress]:
    """Parse NAME://host:port,…; ValueError if it is anything else, or has a name or an address twice."""
    found: list[NamedAddress] = []
    for item in filter(None, map(str.strip, text.split(","))):
        name, separator, address = item.partition("://")
        host, colon, port = address.rpartition(":")
        if not name or not separator or not colon or not port.isdecimal() or int(port) > 65535:
            raise ValueError(f"expected NAME://host:port, such as EXTERNAL://0.0.0.0:9094, not {item!r}")
        if ":" in host and not (host.startswith("[") and host.endswith("]")):
            raise ValueError(f"write an IPv6 address in brackets: {name}://[{host}]:{port}")
        found.append(NamedAddress(name.upper(), host.strip("[]"), int(port)))
    if not found:
        raise ValueError("names no listener")
    _check_once("name", [one.name for one in found])
    # An address of IPv4 and one of IPv6 may have the same port (KIP-797).
    for kind in (4, 6):
        _check_once("port", [str(one.port) for one in found if one.port and _version(one.host) in (None, kind)])
    return found


def _version(host: str) -> int | None:
    """Of an IP address; None for a name, which may have addresses of both."""
    try:
        return ip_address(host).version
    except ValueError:
        return None


def _check_once(attribute: str, values: list[str]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"each listener has a {attribute} of its own, but {value} is there twice")


def named_protocols(text: str) -> dict[str, str]:
    """Parse NAME:PROTOCOL,…"""
    found = {}
    for item in filter(None, map(str.strip, text.split(","))):
        name, colon, protocol = (part.strip().upper() for part in item.partition(":"))
        if not name or not colon or protocol not in PROTOCOLS:
            raise ValueError(f"expected NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}, not {item!r}")
        found[name] = protocol
    return found
