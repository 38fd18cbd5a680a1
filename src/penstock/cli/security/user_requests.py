"""Requests about users, through librdkafka: one mechanism at a time, since Kafka alters a user once in a request."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from penstock.cli.kafka.client import REQUEST_TIMEOUT_S, explain
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.security.users.credential import SALT_BYTES, ScramMechanism

if TYPE_CHECKING:
    from penstock.cli.kafka.client import KafkaClients

Credentials = dict[ScramMechanism, int]
"""The iterations of each mechanism of a user."""


class UserRequests:
    """A client of a broker that has let us in."""

    def __init__(self, clients: KafkaClients) -> None:
        self._admin = clients.admin()

    def all(self) -> dict[str, Credentials]:
        """All users, by name."""
        described = self._result(
            self._admin.describe_user_scram_credentials(request_timeout=REQUEST_TIMEOUT_S), "users"
        )
        return {
            name: {
                ScramMechanism(info.mechanism.value): info.iterations
                for info in sorted(user.scram_credential_infos, key=lambda info: info.mechanism.value)
            }
            for name, user in sorted(described.items())
        }

    def set_password(self, user: str, password: str, credentials: Credentials) -> None:
        from confluent_kafka.admin import ScramCredentialInfo, UserScramCredentialUpsertion
        from confluent_kafka.admin import ScramMechanism as Mechanism

        for mechanism, iterations in credentials.items():
            info = ScramCredentialInfo(Mechanism(int(mechanism)), iterations)
            salt = secrets.token_bytes(SALT_BYTES)  # of the length that the broker gives its users
            self._alter(user, UserScramCredentialUpsertion(user, info, password.encode(), salt))

    def remove(self, user: str, mechanisms: list[ScramMechanism]) -> None:
        from confluent_kafka.admin import ScramMechanism as Mechanism
        from confluent_kafka.admin import UserScramCredentialDeletion

        for mechanism in mechanisms:
            self._alter(user, UserScramCredentialDeletion(user, Mechanism(int(mechanism))))

    def _alter(self, user: str, alteration: Any) -> None:
        futures = self._admin.alter_user_scram_credentials([alteration], request_timeout=REQUEST_TIMEOUT_S)
        self._result(futures[user], f"user {user}")

    def _result(self, future: Any, what: str) -> Any:
        from confluent_kafka import KafkaError, KafkaException

        try:
            return future.result()
        except KafkaException as error:
            found = error.args[0]
            if found.code() == KafkaError.RESOURCE_NOT_FOUND:
                hint = "`penstock security user list` shows all"
                raise CommandError(f"{what}: {found.str()}", ExitCode.NOT_FOUND, hint=hint) from error
            raise explain(found, what) from error
