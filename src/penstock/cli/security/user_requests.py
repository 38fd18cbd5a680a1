"""Requests about users, one mechanism at a time, since Kafka alters a user once in a request.

They do not go through librdkafka: it aborts the process where a broker refuses to describe users.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.rights import Resource, Right, refusal
from penstock.security.users.credential import SALT_BYTES, ScramMechanism, salted_password

if TYPE_CHECKING:
    from penstock.cli.kafka.client import KafkaClients
    from penstock.cli.kafka.kafka_connection import KafkaConnection

Credentials = dict[ScramMechanism, int]
"""The iterations of each mechanism of a user."""


class UserRequests:
    """A client of a broker that has let us in. It connects anew for each, as a person may think before a password."""

    def __init__(self, clients: KafkaClients) -> None:
        self._clients = clients

    def all(self) -> dict[str, Credentials]:
        """All users, by name."""
        from kio.schema.describe_user_scram_credentials.v0.request import DescribeUserScramCredentialsRequest
        from kio.schema.describe_user_scram_credentials.v0.response import DescribeUserScramCredentialsResponse

        with self._connection() as connection:
            # None would mean all as well, but Apache Kafka leaves that unanswered where it refuses.
            request = DescribeUserScramCredentialsRequest(users=())
            answer = connection.call(request, DescribeUserScramCredentialsResponse)
        _check(answer.error_code, answer.error_message, "users", "see users", "Describe")
        return {
            user.user: {
                ScramMechanism(info.mechanism): int(info.iterations)
                for info in sorted(user.credential_infos, key=lambda info: info.mechanism)
            }
            for user in sorted(answer.results, key=lambda user: user.user)
        }

    def set_password(self, user: str, password: str, credentials: Credentials) -> None:
        from kio.schema.alter_user_scram_credentials.v0 import request as schema
        from kio.static.primitive import i8, i32

        with self._connection() as connection:
            for mechanism, iterations in credentials.items():
                salt = secrets.token_bytes(SALT_BYTES)  # of the length that the broker gives its users
                upsertion = schema.ScramCredentialUpsertion(
                    name=user,
                    mechanism=i8(mechanism),
                    iterations=i32(iterations),
                    salt=salt,
                    salted_password=salted_password(mechanism, password.encode(), salt, iterations),
                )
                request = schema.AlterUserScramCredentialsRequest(deletions=(), upsertions=(upsertion,))
                _alter(connection, user, request)

    def remove(self, user: str, mechanisms: list[ScramMechanism]) -> None:
        from kio.schema.alter_user_scram_credentials.v0 import request as schema
        from kio.static.primitive import i8

        with self._connection() as connection:
            for mechanism in mechanisms:
                deletion = schema.ScramCredentialDeletion(name=user, mechanism=i8(mechanism))
                _alter(connection, user, schema.AlterUserScramCredentialsRequest(deletions=(deletion,), upsertions=()))

    def _connection(self) -> KafkaConnection:
        from penstock.cli.kafka.kafka_connection import open_connection

        return open_connection(self._clients.bootstrap, self._clients.properties)


def _alter(connection: KafkaConnection, user: str, request: Any) -> None:
    from kio.schema.alter_user_scram_credentials.v0.response import AlterUserScramCredentialsResponse

    for result in connection.call(request, AlterUserScramCredentialsResponse).results:
        _check(result.error_code, result.error_message, f"user {user}", "change users", "Alter")


def _check(code: int, message: str | None, what: str, act: str, operation: str) -> None:
    """`act` needs the operation of the cluster."""
    from penstock.model.errors import ErrorCode

    error = ErrorCode(int(code))
    if error is ErrorCode.NONE:
        return
    if refused := refusal(error, act, [Right(operation, Resource.CLUSTER)]):
        raise refused
    text = f"{what}: {message or error.name}"
    if error is ErrorCode.RESOURCE_NOT_FOUND:
        raise CommandError(text, ExitCode.NOT_FOUND, hint="`penstock security user list` shows all")
    raise CommandError(text)
