"""The table `push_producers`: which producer id a push client publishes with, in which epoch."""

from __future__ import annotations

from typing import NamedTuple

from penstock.storage.metadata.database import MetadataDatabase


class PushProducerRow(NamedTuple):
    client_id: str
    epoch: int
    producer_id: int
    used_ms: int


class StoredPushProducers:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def get(self, client_id: str) -> PushProducerRow | None:
        rows = self._database.read(
            "SELECT client_id, epoch, producer_id, used_ms FROM push_producers WHERE client_id = ?", (client_id,)
        )
        return PushProducerRow(*rows[0]) if rows else None

    def put(self, row: PushProducerRow) -> None:
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO push_producers VALUES (?, ?, ?, ?)", row)

    def forget(self, unused_since_ms: int) -> int:
        """Delete those that were not used since; returns how many."""
        with self._database.transaction() as connection:
            return connection.execute("DELETE FROM push_producers WHERE used_ms < ?", (unused_since_ms,)).rowcount
