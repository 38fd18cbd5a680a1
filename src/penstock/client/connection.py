"""One blocking connection to a broker. Several requests of several users may be in flight; each gets its own answer.

Nothing is retried here: a connection that fails is closed, and its user opens another.
"""

from __future__ import annotations

import math
import select
import socket
import ssl
import time
from collections import deque
from typing import NamedTuple, Self

from penstock.client.address import Address
from penstock.client.answer_error import check
from penstock.client.calls import Calls
from penstock.client.security.login import LoginRefused, log_in
from penstock.client.security.properties import PLAINTEXT, ClientSecurity, SecurityProblem
from penstock.client.security.tls import client_context, encrypted
from penstock.client.security.tls_problem import SUSPECTED, certificate_problem, is_end, tls_problem
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.endpoint import Endpoint
from penstock.net.networks import network_of
from penstock.protocol.kafka.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from penstock.protocol.kafka.primitives import INT16, INT32
from penstock.runtime.plugins import UnknownImplementation

FRAME_BYTES_MAX = 1 << 30
SASL_HANDSHAKE_VERSION = 1
SASL_AUTHENTICATE_VERSION = 2
LIFETIME_SHARE = 0.85
"""The part of a session after which the client logs in again."""
CREDENTIALS = "check sasl.username and sasl.password"
# By the protocol, what it may mean that a broker closes a connection instead of the first answer.
_WRONG_PORT = {
    "PLAINTEXT": "if it wants TLS or a login there, set security.protocol",
    "SSL": "if it wants no TLS or a login, too, set security.protocol; if a certificate, ssl.certificate.location",
    "SASL_PLAINTEXT": "if it wants TLS or no login there, set security.protocol",
    "SASL_SSL": "if it wants no TLS or no login there, set security.protocol",
}
_NO_HANDSHAKE = (
    "if it wants no TLS there, set security.protocol; perhaps it does not take the certificate of the client"
)


class BrokerUnavailable(OSError):
    """The broker cannot be reached, does not answer, or has closed the connection."""


class CertificateSuspected(BrokerUnavailable):
    """The broker has ended the connection before its first answer, and the client has a certificate to show."""


class _Expected(NamedTuple):
    correlation_id: int
    api_key: int
    version: int


class UnderWay(NamedTuple):
    """A request in flight, whose sender will ask for the answer."""

    connection: Connection
    correlation_id: int

    def answer(self) -> memoryview:
        """The answer, from its correlation id on."""
        return self.connection.receive(self.correlation_id)


class Connection(Calls):
    """Raises KafkaError with SASL_AUTHENTICATION_FAILED if the broker is not trusted or does not let us in.

    `context` is that of `security`, for callers that make more than one connection.
    """

    def __init__(
        self,
        address: Address,
        *,
        client_id: str,
        timeout_s: float,
        security: ClientSecurity = PLAINTEXT,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.address = address
        self._security = security
        self._log_in_again_at = math.inf
        self._client_id = client_id.encode()
        self._correlation_id = 0
        self._is_answered = False
        self._expected: deque[_Expected] = deque()
        self._waiting: dict[int, memoryview] = {}  # answers that arrived before their senders asked for them
        endpoint = Endpoint(*address)
        try:
            self._socket = network_of(endpoint).client().connect(endpoint, timeout_s)
        except (OSError, UnknownImplementation, ValueError) as error:
            raise BrokerUnavailable(f"{address} cannot be reached: {error}") from error
        if security.has_tls:
            self._socket = self._encrypted(context)
        if security.has_sasl:
            self._log_in()

    def _encrypted(self, context: ssl.SSLContext | None) -> ssl.SSLSocket:
        try:
            return encrypted(self._socket, self.address.host, context or client_context(self._security))
        except (OSError, SecurityProblem) as error:
            self._socket.close()
            if isinstance(error, SecurityProblem):
                raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error)) from error
            self._check_tls(tls_problem(error))
            hint = _NO_HANDSHAKE if self._security.has_certificate else _WRONG_PORT["SSL"]
            raise BrokerUnavailable(f"{self.address} does not shake hands: {error}; {hint}") from error

    def _check_tls(self, problem: str | None) -> None:
        """Raise KafkaError for a problem that another attempt would have as well."""
        if problem is not None:
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"{self.address} {problem}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a thread that waits for an answer gets an error."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it never was connected, or is closed already
        self._socket.close()

    def is_idle(self) -> bool:
        """Whether it is open, as far as can be told without asking, and no answer is under way."""
        if self._expected or self._waiting or self._socket.fileno() < 0:
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)  # what a broker says without being asked is that it has closed the connection

    def _log_in(self) -> None:
        """Log in, or again on a connection that is in use (KIP-368). KafkaError if the broker does not let us in."""
        self._log_in_again_at = math.inf
        while self._expected:
            found, answer = self._next()
            self._waiting[found] = answer
        lifetime_ms = 0

        def exchange(message: bytes) -> bytes:
            nonlocal lifetime_ms
            answer = self.call(SASL_AUTHENTICATE, SASL_AUTHENTICATE_VERSION, auth_bytes=message)
            check(answer.error_code, answer.error_message)
            lifetime_ms = int(answer.session_lifetime.total_seconds() * 1000)
            return bytes(answer.auth_bytes)

        try:
            mechanism = self._security.mechanism or ""
            handshake = self.call(SASL_HANDSHAKE, SASL_HANDSHAKE_VERSION, mechanism=mechanism)
            offered = ", ".join(handshake.mechanisms)
            fix = "set sasl.mechanism" if offered else "it asks for no login there: set security.protocol"
            check(handshake.error_code, f"it does not offer {mechanism}, but {offered or 'none'}; {fix}")
            log_in(self._security, exchange)
        except (LoginRefused, KafkaError) as error:
            self.close()
            code = error.code if isinstance(error, KafkaError) else ErrorCode.SASL_AUTHENTICATION_FAILED
            text = str(error) if ";" in str(error) else f"{error}; {CREDENTIALS}"
            raise KafkaError(code, f"{self.address}: {text}") from None
        if lifetime_ms:
            self._log_in_again_at = time.monotonic() + lifetime_ms / 1000 * LIFETIME_SHARE

    def exchange(self, api_key: int, version: int, body: bytes, *, flexible: bool) -> memoryview:
        """Send a request and wait for the answer, from its correlation id on."""
        return self.send(api_key, version, body, flexible=flexible).answer()

    def send(self, api_key: int, version: int, *body: bytes | bytearray | memoryview, flexible: bool) -> UnderWay:
        """Send a request whose body is encoded already, in one or more pieces."""
        if time.monotonic() > self._log_in_again_at:
            self._log_in()
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        header = INT16.pack(api_key) + INT16.pack(version) + INT32.pack(self._correlation_id)
        header += INT16.pack(len(self._client_id)) + self._client_id + (b"\0" if flexible else b"")
        size = len(header) + sum(map(len, body))
        try:
            self._send_all([INT32.pack(size) + header, *body])
        except OSError as error:
            raise self._broken(error, "does not take requests") from error
        self._expected.append(_Expected(self._correlation_id, api_key, version))
        return UnderWay(self, self._correlation_id)

    def _send_all(self, pieces: list[bytes | bytearray | memoryview]) -> None:
        if isinstance(self._socket, ssl.SSLSocket):  # which takes one piece at a time
            self._socket.sendall(b"".join(pieces))
            return
        sent = self._socket.sendmsg(pieces)
        for piece in pieces:
            if sent < len(piece):
                self._socket.sendall(memoryview(piece)[sent:])
            sent = max(0, sent - len(piece))

    def receive(self, correlation_id: int) -> memoryview:
        """The answer to a request, from its correlation id on."""
        if correlation_id in self._waiting:
            return self._waiting.pop(correlation_id)
        while True:
            found, answer = self._next()
            if found == correlation_id:
                return answer
            self._waiting[found] = answer

    def _next(self) -> tuple[int, memoryview]:
        if not self._expected:
            raise BrokerUnavailable(f"{self.address}: the connection on which an answer was expected is closed")
        expected = self._expected.popleft()
        try:
            (size,) = INT32.unpack(self._take(INT32.size))
            if not INT32.size <= size <= FRAME_BYTES_MAX:
                raise OSError(f"an answer of {size} bytes")
            answer = self._take(size)
        except OSError as error:
            raise self._broken(error, "gave no answer") from error
        self._is_answered = True
        (correlation_id,) = INT32.unpack_from(answer)
        if correlation_id != expected.correlation_id:
            self.close()
            raise BrokerUnavailable(f"{self.address} answered {correlation_id} to {expected}")
        return correlation_id, answer

    def _broken(self, error: OSError, told: str) -> BrokerUnavailable:
        """Close the connection; its error. Raises KafkaError for one that another attempt would have as well."""
        self.close()
        self._check_tls(certificate_problem(error))
        if self._is_answered:
            return BrokerUnavailable(f"{self.address} {told}: {error}")
        security = self._security
        if security.has_tls and security.has_certificate and is_end(error):
            return CertificateSuspected(f"{self.address} {SUSPECTED}")
        return BrokerUnavailable(f"{self.address} {told}: {error}; {_WRONG_PORT[security.protocol]}")

    def _take(self, size: int) -> memoryview:
        view = memoryview(bytearray(size))
        have = 0
        flags = 0 if isinstance(self._socket, ssl.SSLSocket) else socket.MSG_WAITALL
        while have < size:
            count = self._socket.recv_into(view[have:], 0, flags)
            if not count:
                raise ConnectionError("it closed the connection")
            have += count
        return view
