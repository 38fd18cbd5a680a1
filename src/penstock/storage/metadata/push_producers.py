"""The table `push_producers`: which producer id a push client publishes with, in which epoch.

A client is a principal and a client id: two principals may use the same client id.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.storage.metadata.database import MetadataDatabase


class PushProducerRow(NamedTuple):
    principal: str
    client_id: str
    epoch: int
    producer_id: int
    used_ms: int


class StoredPushProducers:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def get(self, principal: str, client_id: str) -> PushProducerRow | None:
        rows = self._database.read(
            "SELECT principal, client_id, epoch, producer_id, used_ms FROM push_producers"
            " WHERE principal = ? AND client_id = ?",
            (principal, client_id),
        )
        return PushProducerRow(*rows[0]) if rows else None

    def owners(self) -> list[tuple[int, str]]:
        """Each producer id and the principal that publishes under it."""
        return self._database.read("SELECT producer_id, principal FROM push_producers")

    def count(self) -> int:
        return int(self._database.read("SELECT count(*) FROM push_producers")[0][0])

    def count_of(self, principal: str) -> int:
        return int(self._database.read("SELECT count(*) FROM push_producers WHERE principal = ?", (principal,))[0][0])

    def put(self, row: PushProducerRow) -> None:
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO push_producers VALUES (?, ?, ?, ?, ?)", row)

    def forget(self, unused_since_ms: int) -> list[int]:
        """Delete those that were not used since; returns their producer ids."""
        since = (unused_since_ms,)
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT producer_id FROM push_producers WHERE used_ms < ?", since).fetchall()
            connection.execute("DELETE FROM push_producers WHERE used_ms < ?", since)
        return [int(producer_id) for (producer_id,) in rows]
