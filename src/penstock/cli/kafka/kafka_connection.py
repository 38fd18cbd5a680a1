"""A connection for the requests that librdkafka cannot make: `client.Connection`, with errors of commands.

It goes to the first bootstrap address that answers, without retries and other brokers. Messages are kio's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from penstock.cli.kafka.client import REQUEST_TIMEOUT_S, client_security
from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.client.connection import Connection

Reply = TypeVar("Reply")
Value = TypeVar("Value")

_CLIENT_ID = "penstock-cli"
_BODY_START = 5  # after the correlation id, and no tagged fields: all of these requests are flexible


class KafkaConnection:
    """A connection that is made by `open_connection` and closed at the end of a `with`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def call(self, request: Any, reply: type[Reply]) -> Reply:
        """Send a request and wait for its answer, an entity of kio's class for the same API and version."""
        from penstock.protocol.kafka.messages import response_reader

        schema = type(request)
        read = response_reader(schema.__api_key__, schema.__version__)
        return self.ask(request, lambda body, start: cast(Reply, read(body, start)[0]))

    def ask(self, request: Any, decode: Callable[[bytes, int], Value]) -> Value:
        """Send a request and wait for its answer, which `decode` reads from a position of the bytes on."""
        from penstock.client.connection import BrokerUnavailable
        from penstock.protocol.kafka.messages import encode

        schema = type(request)
        key, version = schema.__api_key__, schema.__version__
        try:
            sent = self._connection.send(key, version, encode(request), flexible=bool(schema.__flexible__))
            body = bytes(sent.answer())
        except BrokerUnavailable as error:
            hint = "check that it is a Kafka port of Penstock or of Kafka 3.7 or newer"
            raise CommandError(f"the request was not answered ({error})", ExitCode.UNREACHABLE, hint=hint) from error
        return decode(body, _BODY_START)


def open_connection(bootstrap: str, properties: Mapping[str, str] | None = None) -> KafkaConnection:
    """Connect to an address at which `client.connect` has found a listener.

    `properties` are those that it found, for commands with `--property`; others have those of `--command-config`.
    """
    from penstock.client.address import parse_addresses
    from penstock.client.connection import BrokerUnavailable, Connection
    from penstock.model.errors import KafkaError

    problems, security = [], client_security(properties)
    for address in parse_addresses(bootstrap):
        try:
            return KafkaConnection(
                Connection(address, client_id=_CLIENT_ID, timeout_s=REQUEST_TIMEOUT_S, security=security)
            )
        except BrokerUnavailable as error:
            problems.append(str(error))
        except KafkaError as error:  # it does not let us in, or we do not trust it
            raise CommandError(str(error)) from error
    raise CommandError("; ".join(problems), ExitCode.UNREACHABLE)
