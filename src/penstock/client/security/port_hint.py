"""Why a Kafka port hangs up on a client whose `security.protocol` does not fit: it speaks TLS, or it wants a login.

Such a port closes the connection without a word, and librdkafka can only say that. It is asked here once more, in a way
that tells.
"""

from __future__ import annotations

from penstock.client.address import Address
from penstock.client.connection import BrokerUnavailable, Connection
from penstock.client.security.properties import ClientSecurity
from penstock.client.security.tls_port import speaks_tls
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.apis import SASL_HANDSHAKE

_NO_MECHANISM = "-"
"""No broker has it: one that wants a login answers with those that it has."""


def port_hint(address: Address, security: ClientSecurity, timeout_s: float) -> str | None:
    """What is to be set; None if that is not it, or if nobody answers."""
    if not security.has_tls and speaks_tls(*address, timeout_s):
        fitting = "SASL_SSL" if security.has_sasl else "SSL, or to SASL_SSL if it wants a login"
        return f"{address} speaks TLS; set security.protocol to {fitting}"
    if security.has_sasl:
        return None
    mechanisms = _mechanisms(address, security, timeout_s)
    if not mechanisms:
        return None
    fitting = "SASL_SSL" if security.has_tls else "SASL_PLAINTEXT"
    return f"{address} wants a login; set security.protocol to {fitting}, and sasl.mechanism to {mechanisms}"


def _mechanisms(address: Address, security: ClientSecurity, timeout_s: float) -> str:
    try:
        with Connection(address, client_id="penstock-hint", timeout_s=timeout_s, security=security) as connection:
            answer = connection.call(SASL_HANDSHAKE, 1, mechanism=_NO_MECHANISM)
    except (BrokerUnavailable, KafkaError):
        return ""
    if int(answer.error_code) != ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        return ""
    return " or ".join(sorted(answer.mechanisms))
