"""The table `tokens`: digests of words that stand for principals. The words themselves are nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.storage.metadata.database import MetadataDatabase


class StoredToken(NamedTuple):
    token_id: str
    principal: str
    name: str
    created_ms: int
    expires_ms: int
    digest: bytes

    def __repr__(self) -> str:
        return f"StoredToken({self.token_id!r})"


class StoredTokens:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def all(self) -> list[StoredToken]:
        rows = self._database.read(f"SELECT {', '.join(StoredToken._fields)} FROM tokens ORDER BY created_ms, token_id")
        return [StoredToken(*row) for row in rows]

    def change(self, removed: Sequence[str], put: Sequence[StoredToken]) -> None:
        """Remove and add tokens, all or none."""
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM tokens WHERE token_id = ?", [(each,) for each in removed])
            connection.executemany("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?)", put)
