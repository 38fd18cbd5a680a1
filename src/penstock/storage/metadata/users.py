"""The table `scram_credentials`: the keys of users. Passwords are nowhere; `security.users` says what the keys are."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.storage.metadata.database import MetadataDatabase

_SECRET: Final = "decoy_secret"
_SECRET_BYTES: Final = 32


class StoredCredential(NamedTuple):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __repr__(self) -> str:
        return f"StoredCredential({self.user!r}, {self.mechanism})"  # keys stay out of logs and tracebacks


class StoredUsers:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def all(self) -> list[StoredCredential]:
        columns = ", ".join(StoredCredential._fields)
        rows = self._database.read(f"SELECT {columns} FROM scram_credentials ORDER BY user, mechanism")
        return [StoredCredential(*row) for row in rows]

    def change(self, removed: Sequence[tuple[str, int]], put: Sequence[StoredCredential]) -> None:
        """Remove and set credentials, all or none."""
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM scram_credentials WHERE user = ? AND mechanism = ?", removed)
            connection.executemany("INSERT OR REPLACE INTO scram_credentials VALUES (?, ?, ?, ?, ?, ?)", put)

    def secret(self) -> bytes:
        """The secret behind the salts of names that are no user's: made once, so that they stay the same."""
        found = self._database.read("SELECT value FROM identity WHERE name = ?", (_SECRET,))
        if found:
            return bytes.fromhex(found[0][0])
        made = secrets.token_bytes(_SECRET_BYTES)
        with self._database.transaction() as connection:
            connection.execute("INSERT INTO identity (name, value) VALUES (?, ?)", (_SECRET, made.hex()))
        return made
