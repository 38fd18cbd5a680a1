"""The counter of producer ids."""

from __future__ import annotations

from penstock.storage.metadata.database import MetadataDatabase

_COUNTER = "SELECT value FROM counters WHERE name = 'producer_id'"


class StoredProducerIds:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def first_unused(self) -> int:
        """First id that no block has held."""
        rows = self._database.read(_COUNTER)
        return int(rows[0][0]) if rows else 0

    def next_block(self, size: int = 1000) -> int:
        """First id of a block that was never given out: a reused id would make new records look like duplicates."""
        with self._database.transaction() as connection:
            row = connection.execute(_COUNTER).fetchone()
            first = int(row[0]) if row else 0
            connection.execute(
                "INSERT OR REPLACE INTO counters (name, value) VALUES ('producer_id', ?)", (first + size,)
            )
        return first
