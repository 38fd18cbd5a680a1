"""The table `subscriptions` of the push door. Positions are not here: they are offsets of consumer groups."""

from __future__ import annotations

from typing import NamedTuple

from penstock.storage.metadata.database import MetadataDatabase


class SubscriptionRow(NamedTuple):
    """`refresh_ends` is None unless the refresh `refresh_id` is under way."""

    name: str
    topic: str
    by_key: bool
    start_kind: int
    start_value: int
    refresh_id: int = 0
    refresh_ends: str | None = None


class StoredSubscriptions:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def all(self) -> list[SubscriptionRow]:
        rows = self._database.read(
            "SELECT name, topic, by_key, start_kind, start_value, refresh_id, refresh_ends FROM subscriptions"
        )
        return [SubscriptionRow(row[0], row[1], bool(row[2]), *row[3:]) for row in rows]

    def put(self, row: SubscriptionRow) -> None:
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def delete(self, name: str) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM subscriptions WHERE name = ?", (name,))
