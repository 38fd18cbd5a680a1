"""Commands on users: SCRAM credentials set and removed, durable first and then visible to logins.

The tokens of a user go with the last credential: another user of that name is not to be let in with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.cluster.controller.commands import Commands
from penstock.cluster.controller.tokens_frontend import TokensFrontend
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import (
    SCRAM_ITERATIONS_MAX,
    SCRAM_ITERATIONS_MIN,
    SCRAM_SALT_BYTES_MAX,
    USERS_MAX,
)
from penstock.security.principal import Principal
from penstock.security.users.credential import ScramCredential, ScramMechanism, derived_credential
from penstock.security.users.name import check_user_name
from penstock.security.users.table import UserTable
from penstock.storage.metadata.users import StoredCredential, StoredUsers

_TWICE = "A user credential cannot be altered twice in the same request"
_MECHANISMS = frozenset(ScramMechanism)


class Deletion(NamedTuple):
    user: str
    mechanism: int


class Upsertion(NamedTuple):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Upsertion({self.user!r}, {self.mechanism})"  # the salted password is as good as the password


@dataclass(slots=True)
class _Plan:
    """The alterations of a request that can be made, by user, and the errors of the others."""

    removed: dict[str, Deletion] = field(default_factory=dict)
    put: dict[str, tuple[ScramMechanism, ScramCredential]] = field(default_factory=dict)
    errors: dict[str, KafkaError] = field(default_factory=dict)

    def takes(self, user: str) -> bool:
        """Whether to plan a change of the user; no change is made of one that occurs twice, as in Kafka."""
        if user in self.errors:
            return False
        if self.removed.pop(user, None) is None and self.put.pop(user, None) is None:
            return True
        self.errors[user] = KafkaError(ErrorCode.DUPLICATE_RESOURCE, _TWICE)
        return False


class UsersFrontend:
    """Single writer of the table of users."""

    def __init__(self, *, commands: Commands, store: StoredUsers, iterations: int, tokens: TokensFrontend) -> None:
        self.table = UserTable(store.secret(), iterations)
        self._tokens = tokens
        self._commands = commands
        self._store = store

    def load(self) -> None:
        for row in self._store.all():
            credential = ScramCredential(row.iterations, row.salt, row.stored_key, row.server_key)
            self.table.put(row.user, ScramMechanism(row.mechanism), credential)

    async def alter(
        self, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
    ) -> dict[str, KafkaError | None]:
        """Change credentials; a result for each user. Valid changes are stored together; KafkaError if that fails."""
        return await self._commands.run(self._alter(deletions, upsertions))

    async def _alter(
        self, deletions: Iterable[Deletion], upsertions: Iterable[Upsertion]
    ) -> dict[str, KafkaError | None]:
        plan = self._plan(deletions, upsertions)
        if plan.removed or plan.put:
            rows = [stored_row(user, *credential) for user, credential in plan.put.items()]
            gone = [Principal("User", user) for user in plan.removed if len(self.table.stored(user)) == 1]
            await self._tokens.remove([token for principal in gone for token in self._tokens.table.of(principal)])
            await self._commands.durably(self._store.change, list(plan.removed.values()), rows)
            for user, mechanism in plan.removed.values():
                self.table.remove(user, ScramMechanism(mechanism))
            for user, (known, credential) in plan.put.items():
                self.table.put(user, known, credential)
        return {**dict.fromkeys((*plan.removed, *plan.put)), **plan.errors}

    def _plan(self, deletions: Iterable[Deletion], upsertions: Iterable[Upsertion]) -> _Plan:
        plan = _Plan()
        alterations: list[Deletion | Upsertion] = [*deletions, *upsertions]
        for alteration in alterations:
            if plan.takes(alteration.user):
                try:
                    self._add(plan, alteration)
                except KafkaError as error:
                    plan.errors[alteration.user] = error.kept()
        return plan

    def _add(self, plan: _Plan, alteration: Deletion | Upsertion) -> None:
        if isinstance(alteration, Deletion):
            self._delete(plan, alteration)
        else:
            self._upsert(plan, alteration)

    def _delete(self, plan: _Plan, deletion: Deletion) -> None:
        mechanism = _mechanism(deletion.user, deletion.mechanism)
        if mechanism not in self.table.stored(deletion.user):
            message = "Attempt to delete a user credential that does not exist"
            raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, message)
        plan.removed[deletion.user] = deletion

    def _upsert(self, plan: _Plan, upsertion: Upsertion) -> None:
        user, number, iterations, salt, salted = upsertion
        mechanism = _mechanism(user, number)
        if iterations < SCRAM_ITERATIONS_MIN:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if iterations > SCRAM_ITERATIONS_MAX:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
        check_user_name(user)
        if not 0 < len(salt) <= SCRAM_SALT_BYTES_MAX:
            message = f"The salt must have 1 to {SCRAM_SALT_BYTES_MAX} bytes"
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, message)
        if user not in self.table and len(self.table) + len(plan.put) >= USERS_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"More than {USERS_MAX} users.")
        plan.put[user] = (mechanism, derived_credential(mechanism, salted, salt, iterations))


def _mechanism(user: str, number: int) -> ScramMechanism:
    """The mechanism of an alteration, checked in Kafka's order: the name comes first."""
    if not user:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if number not in _MECHANISMS:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return ScramMechanism(number)


def stored_row(user: str, mechanism: ScramMechanism, credential: ScramCredential) -> StoredCredential:
    return StoredCredential(
        user, mechanism, credential.iterations, credential.salt, credential.stored_key, credential.server_key
    )
