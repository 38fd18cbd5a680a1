"""The table `acls`: rules about who may do what. Only the authorizer knows what the numbers mean."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.storage.metadata.database import MetadataDatabase

AclRow = tuple[int, str, int, str, str, int, int]
"""Resource type, name, pattern type, principal, host, operation, permission."""

_COLUMNS = "resource_type, name, pattern_type, principal, host, operation, permission"


class StoredAcls:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def all(self) -> list[AclRow]:
        return self._database.read(f"SELECT {_COLUMNS} FROM acls")

    def change(self, *, added: Sequence[AclRow] = (), removed: Sequence[AclRow] = ()) -> None:
        """Add and remove rules, all or none."""
        with self._database.transaction() as connection:
            connection.executemany(f"INSERT OR REPLACE INTO acls ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", added)
            connection.executemany(
                "DELETE FROM acls WHERE resource_type = ? AND name = ? AND pattern_type = ? AND principal = ?"
                " AND host = ? AND operation = ? AND permission = ?",
                removed,
            )
