"""The first question to a broker, which finds a wrong address within seconds and names it.

librdkafka by itself retries quietly until the timeout of the request, and its error has no address. A broker that was
reached once is given the whole request timeout from then on. Nor does it say why a broker does not let it in, or is not
trusted: where there is TLS or a login, our own client tries it first.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from confluent_kafka import KafkaError, KafkaException

from penstock.client.address import Address, parse_addresses
from penstock.client.security.properties import ClientSecurity
from penstock.sdk.errors import NotAllowed, Unreachable
from penstock.sdk.librdkafka.errors import cause, translate

FIRST_CONTACT_MS = 5_000
"""Long enough for a broker that is just starting; used unless request_timeout_ms is given."""
_PROBE_S = 1.0
_SILENT = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE, KafkaError._TIMED_OUT)
HINT = "check that a broker runs there, that the port is its Kafka port, and that it can be reached from here"


class Asked(NamedTuple):
    """The answer of brokers to a login; neither of both if none has answered."""

    is_accepted: bool
    refusal: NotAllowed | None = None


def refusal_of(error: KafkaError) -> NotAllowed:
    """What a broker has told the library, with what is to be checked."""
    from penstock.client.connection import CREDENTIALS

    hint = CREDENTIALS if error.code() == KafkaError._AUTHENTICATION else "check ssl.ca.location and the host's name"
    return NotAllowed(f"config: {error.str()}; {hint}", code=error.name())


class Library(Protocol):
    def list_topics(self, topic: Any = None, timeout: float = -1) -> Any: ...


class FirstContact:
    def __init__(
        self, library: Library, bootstrap: str, given: Mapping[str, Any], security: ClientSecurity | None
    ) -> None:
        self._library = library
        self._bootstrap = bootstrap
        self._security = security
        timeout_ms = given.get("request_timeout_ms", FIRST_CONTACT_MS)
        self.timeout_s = min(timeout_ms, given.get("delivery_timeout_ms", timeout_ms)) / 1000

    def metadata(self) -> Any:
        """Return all topics and brokers. Asking for all, unlike asking for one, creates none."""
        refusal = self.refusal()
        if refusal is not None:
            raise refusal
        try:
            return self._library.list_topics(timeout=self.timeout_s)
        except KafkaException as error:
            found = cause(error)
            if found.code() not in _SILENT:
                raise translate(found, f"brokers at {self._bootstrap}") from error
            raise Unreachable(self.silence(), hint=HINT, code=found.name()) from error

    def refusal(self) -> NotAllowed | None:
        """Return why no broker lets this client in, or why none is trusted; None if one does, or none answers."""
        return self.ask().refusal

    def ask(self) -> Asked:
        """Try the login, or the certificate, at each broker until one accepts it."""
        if self._security is None or not (self._security.has_tls or self._security.has_sasl):
            return Asked(is_accepted=True)
        from penstock.client.connection import BrokerUnavailable
        from penstock.client.security.first_login import try_login
        from penstock.model.errors import KafkaError

        found = None
        for address in parse_addresses(self._bootstrap):
            try:
                try_login(address, self._security, client_id="penstock-sdk", timeout_s=self.timeout_s)
            except BrokerUnavailable:
                continue  # which the library finds out, too
            except KafkaError as error:
                found = NotAllowed(f"config: {error}", code=error.code.name)
            else:
                return Asked(is_accepted=True)
        return Asked(is_accepted=False, refusal=found)

    def is_answered(self, timeout_s: float) -> bool:
        """Return whether a broker answers within this time, even if it refuses."""
        try:
            self._library.list_topics(timeout=timeout_s)
        except KafkaException as error:
            return cause(error).code() not in _SILENT
        return True

    def silence(self) -> str:
        """Return the text that no broker has answered, with the addresses and what was found there."""
        return f"no Kafka broker answered at {self._bootstrap} within {self.timeout_s:g} s ({self._reason()})"

    def _reason(self) -> str:
        addresses = parse_addresses(self._bootstrap)
        reasons = [self._probe(address) for address in addresses]
        if len(addresses) == 1:
            return reasons[0]
        return ", ".join(f"{address}: {reason}" for address, reason in zip(addresses, reasons, strict=True))

    def _probe(self, address: Address) -> str:
        from penstock.client.security.port_hint import port_hint

        try:
            socket.create_connection(address, _PROBE_S).close()
        except socket.gaierror:
            return "the host name is unknown"
        except TimeoutError:
            return "the connection timed out"
        except OSError as error:
            return (error.strerror or str(error)).lower()
        misfit = None if self._security is None else port_hint(address, self._security, _PROBE_S)
        return misfit or "something listens there, but does not speak the Kafka protocol"
