"""One blocking connection in Kafka's protocol, for the requests that librdkafka cannot make.

Plain TCP to the first bootstrap address that answers; no retries, no other brokers. Messages are kio's.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from penstock.cli.kafka.client import CONNECT_TIMEOUT_S, REQUEST_TIMEOUT_S
from penstock.cli.terminal.errors import CommandError, ExitCode

_CLIENT_ID = "penstock-cli"


class KafkaConnection:
    """Made with `open_connection`; closed at the end of a `with`."""

    def __init__(self, address: str, connected: socket.socket) -> None:
        self._address = address
        self._socket = connected
        self._socket.settimeout(REQUEST_TIMEOUT_S)
        self._correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def call(self, request: Any, decode: Callable[[bytes, int], Any] | None = None) -> Any:
        """Send a request of kio's and wait for the answer to it, which is kio's unless another reads it."""
        from penstock.protocol.kafka.messages import encode, response_reader

        schema = type(request)
        key, version = schema.__api_key__, schema.__version__
        self._correlation_id += 1
        header = schema.__header_schema__(
            request_api_key=key,
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id=_CLIENT_ID,
        )
        frame = encode(header) + encode(request)
        try:
            self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
            body = self._receive(int.from_bytes(self._receive(4), "big"))
        except OSError as error:
            message = f"{self._address} does not answer this request ({error})"
            hint = "check that it is a Kafka port of Penstock or of Kafka 3.7 or newer"
            raise CommandError(message, ExitCode.UNREACHABLE, hint=hint) from error
        start = 5  # correlation id, and no tagged fields
        return response_reader(key, version)(body, start)[0] if decode is None else decode(body, start)

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            piece = self._socket.recv(count - len(data))
            if not piece:
                raise ConnectionError("connection closed")
            data += piece
        return bytes(data)


def open_connection(bootstrap: str) -> KafkaConnection:
    """To an address that `client.connect` has found to be listening."""
    problem: OSError | None = None
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        try:
            connected = socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_S)
        except OSError as error:
            problem = error
            continue
        return KafkaConnection(address.strip(), connected)
    raise CommandError(f"no broker at {bootstrap} ({problem})", ExitCode.UNREACHABLE)
