"""Users made without a running node: the first one, who makes the others."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.cluster.controller.users_frontend import stored_row
from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.users.credential import ScramMechanism, make_credential
from penstock.security.users.name import check_user_name
from penstock.storage.metadata.store import MetadataStore


def add_user(
    store: MetadataStore, name: str, password: str, mechanisms: Iterable[ScramMechanism], iterations: int
) -> None:
    """Make a user, or give one another password; durable on return. KafkaError if the name or password cannot be."""
    check_user_name(name)
    if not password:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Password must not be empty")
    made = [stored_row(name, each, make_credential(each, password, iterations)) for each in mechanisms]
    known = [(row.user, row.mechanism) for row in store.users.all() if row.user == name]
    store.users.change(known, made)
