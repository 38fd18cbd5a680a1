"""The users file of a registry or an edge application: its users and tokens, which change with the file.

A change counts for the next request. Entries that have not changed stay the objects they were, so that what was found
right a moment ago is not checked again.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable
from pathlib import Path

from penstock.config.secret_file import read_private_bytes
from penstock.node.security.watched_file import BYTES_MAX, INTERVAL_MS, WatchedFile
from penstock.runtime.files import RealFiles
from penstock.security.audit import Audit, Change
from penstock.security.tokens.table import TokenTable
from penstock.security.users.credential import ScramMechanism
from penstock.security.users.document import UsersDocument, UsersError, parse_users, users_text
from penstock.security.users.table import UserTable

logger = logging.getLogger(__name__)


class UsersFile(WatchedFile[UsersDocument]):
    """The file, and the tables that have its users and tokens."""

    def __init__(
        self, path: Path, users: UserTable, tokens: TokenTable, audit: Audit, *, interval_ms: int = INTERVAL_MS
    ) -> None:
        def put(document: UsersDocument, before: UsersDocument | None) -> None:
            put_users(users, document)
            put_tokens(tokens, document)
            if before is not None:
                audit.changed_by_file(str(path), _changes(before, document))
            extra = {"path": str(path), "users": len(document.users), "tokens": len(document.tokens)}
            logger.info("users file read", extra=extra)

        super().__init__(
            path,
            setting="security.users_file",
            title="users file",
            kept="the old users go on",
            read=read_users,
            put=put,
            interval_ms=interval_ms,
        )


def _changes(old: UsersDocument, new: UsersDocument) -> list[Change]:
    had, has = ({f"{token.token_id} of {token.principal}" for token in each.tokens} for each in (old, new))
    changed = [name for name in old.users.keys() & new.users.keys() if old.users[name] != new.users[name]]
    return [
        *(("create user", name) for name in sorted(new.users.keys() - old.users.keys())),
        *(("delete user", name) for name in sorted(old.users.keys() - new.users.keys())),
        *(("change user", name) for name in sorted(changed)),
        *(("create token", token) for token in sorted(has - had)),
        *(("revoke token", token) for token in sorted(had - has)),
    ]


def read_users(path: Path) -> UsersDocument:
    """The document in a file. SecretFileError if others can read it, UsersError if it is none."""
    content = read_private_bytes(path, BYTES_MAX)
    if len(content) > BYTES_MAX:
        raise UsersError(f"larger than {BYTES_MAX >> 20} MiB")
    return parse_users(content)


def change_users(path: Path, change: Callable[[UsersDocument], UsersDocument]) -> None:
    """Replace the document by one that is made of it, durably; one writer at a time. The file is made if need be."""
    directory = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        document = read_users(path) if path.exists() else UsersDocument.new()
        RealFiles().write_durably(path, users_text(change(document)))
    finally:
        os.close(directory)


def put_users(table: UserTable, document: UsersDocument) -> None:
    for name in tuple(table):
        for mechanism in tuple(table.stored(name)):
            if mechanism not in document.users.get(name, {}):
                table.remove(name, mechanism)
    for name, credentials in document.users.items():
        for mechanism, credential in credentials.items():
            if table.stored(name).get(mechanism) != credential:
                table.put(name, ScramMechanism(mechanism), credential)


def put_tokens(table: TokenTable, document: UsersDocument) -> None:
    wanted = {token.token_id: token for token in document.tokens}
    table.remove([token for token in table if wanted.get(token.token_id) != token])
    for token in document.tokens:
        if table.get(token.token_id) is None:
            table.put(token)
