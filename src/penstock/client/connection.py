"""One blocking connection to a broker. Several requests of several users may be in flight; each gets its own answer.

Nothing is retried here: a connection that fails is closed, and its user opens another.
"""

from __future__ import annotations

import socket
from collections import deque
from typing import NamedTuple, Self

from penstock.client.address import Address
from penstock.client.calls import Calls
from penstock.net.endpoint import Endpoint
from penstock.net.networks import network_of
from penstock.protocol.kafka.primitives import INT16, INT32
from penstock.runtime.plugins import UnknownImplementation

FRAME_BYTES_MAX = 1 << 30


class BrokerUnavailable(OSError):
    """The broker cannot be reached, does not answer, or has closed the connection."""


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
    def __init__(self, address: Address, *, client_id: str, timeout_s: float) -> None:
        self.address = address
        self._client_id = client_id.encode()
        self._correlation_id = 0
        self._expected: deque[_Expected] = deque()
        self._waiting: dict[int, memoryview] = {}  # answers that arrived before their senders asked for them
        endpoint = Endpoint(*address)
        try:
            self._socket = network_of(endpoint).client().connect(endpoint, timeout_s)
        except (OSError, UnknownImplementation, ValueError) as error:
            raise BrokerUnavailable(f"{address} cannot be reached: {error}") from error

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

    def exchange(self, api_key: int, version: int, body: bytes, *, flexible: bool) -> memoryview:
        """Send a request and wait for the answer, from its correlation id on."""
        return self.send(api_key, version, body, flexible=flexible).answer()

    def send(self, api_key: int, version: int, *body: bytes | bytearray | memoryview, flexible: bool) -> UnderWay:
        """Send a request whose body is encoded already, in one or more pieces."""
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        header = INT16.pack(api_key) + INT16.pack(version) + INT32.pack(self._correlation_id)
        header += INT16.pack(len(self._client_id)) + self._client_id + (b"\0" if flexible else b"")
        size = len(header) + sum(map(len, body))
        try:
            self._send_all([INT32.pack(size) + header, *body])
        except OSError as error:
            self.close()
            raise BrokerUnavailable(f"{self.address} does not take requests: {error}") from error
        self._expected.append(_Expected(self._correlation_id, api_key, version))
        return UnderWay(self, self._correlation_id)

    def _send_all(self, pieces: list[bytes | bytearray | memoryview]) -> None:
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
            self.close()
            raise BrokerUnavailable(f"{self.address} gave no answer: {error}") from error
        (correlation_id,) = INT32.unpack_from(answer)
        if correlation_id != expected.correlation_id:
            self.close()
            raise BrokerUnavailable(f"{self.address} answered {correlation_id} to {expected}")
        return correlation_id, answer

    def _take(self, size: int) -> memoryview:
        view = memoryview(bytearray(size))
        have = 0
        while have < size:
            count = self._socket.recv_into(view[have:], 0, socket.MSG_WAITALL)
            if not count:
                raise ConnectionError("it closed the connection")
            have += count
        return view
