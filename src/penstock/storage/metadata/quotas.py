"""The table `quotas`: limits of clients. Only the broker knows what entities, keys and values mean."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.storage.metadata.database import MetadataDatabase


class StoredQuotas:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def all(self) -> list[tuple[str, str, str]]:
        """(entity, key, value)."""
        return self._database.read("SELECT entity, key, value FROM quotas")

    def change(self, rows: Sequence[tuple[str, str, str | None]]) -> None:
        """Set some, all or none; a value of None deletes one."""
        with self._database.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO quotas (entity, key, value) VALUES (?, ?, ?)",
                [row for row in rows if row[2] is not None],
            )
            connection.executemany(
                "DELETE FROM quotas WHERE entity = ? AND key = ?",
                [(entity, key) for entity, key, value in rows if value is None],
            )
