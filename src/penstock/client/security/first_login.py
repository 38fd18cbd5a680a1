"""A connection that is made only to find out whether the broker is trusted and lets the client in.

librdkafka tries again and again where it is refused, and does not tell why; here the reason is an exception.
"""

from __future__ import annotations

from penstock.client.address import Address
from penstock.client.connection import CertificateSuspected, Connection
from penstock.client.security.properties import ClientSecurity
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.apis import API_VERSIONS


def try_login(address: Address, security: ClientSecurity, *, client_id: str, timeout_s: float) -> None:
    """KafkaError if it does not work, BrokerUnavailable if nobody answers."""
    try:
        with Connection(address, client_id=client_id, timeout_s=timeout_s, security=security) as connection:
            if not security.has_sasl:  # with TLS 1.3 a client hears what its certificate is worth when it reads
                connection.call(API_VERSIONS, 0)
    except CertificateSuspected as error:  # a client that has not been let in before need not try again
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error)) from error
