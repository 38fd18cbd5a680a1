"""The security of one listener, under Kafka's names: its protocol, and the SASL mechanisms that it offers."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from penstock.security.tls.principal_rules import DEFAULT, PrincipalRules


class SecurityProtocol(enum.Enum):
    """How clients of a listener prove who they are, and whether their bytes are encrypted."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class ListenerSecurity(NamedTuple):
    """`name` is what rules, metrics and Metadata call the listener; it need not be that of a protocol."""

    name: str
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    mechanisms: tuple[str, ...] = ()
    """Of SASL, in the order in which clients are told of them."""
    session_ms_max: int = 0
    """A client has to authenticate again within this time (KIP-368); 0: it need not."""
    principal_rules: PrincipalRules = DEFAULT
    """The principals of clients that show a certificate."""


PLAINTEXT: Final = ListenerSecurity("PLAINTEXT")
