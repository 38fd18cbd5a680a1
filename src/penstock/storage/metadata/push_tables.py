"""What the push door must not forget, in meta.db: its subscriptions, and which producer a client publishes as.

Positions are not here: they are offsets of consumer groups. A part of `metadata.MetadataStore`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple


class SubscriptionRow(NamedTuple):
    """`refresh_ends` is None unless the refresh `refresh_id` is under way."""

    name: str
    topic: str
    by_key: bool
    start_kind: int
    start_value: int
    refresh_id: int = 0
    refresh_ends: str | None = None


class PushProducerRow(NamedTuple):
    client_id: str
    epoch: int
    producer_id: int
    used_ms: int


class PushTables:
    """The tables `subscriptions` and `push_producers`. Durable on return, any thread."""

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        raise NotImplementedError

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        raise NotImplementedError

    def subscriptions(self) -> list[SubscriptionRow]:
        rows = self._read(
            "SELECT name, topic, by_key, start_kind, start_value, refresh_id, refresh_ends FROM subscriptions"
        )
        return [SubscriptionRow(row[0], row[1], bool(row[2]), *row[3:]) for row in rows]

    def put_subscription(self, row: SubscriptionRow) -> None:
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def delete_subscription(self, name: str) -> None:
        with self._writing() as database:
            database.execute("DELETE FROM subscriptions WHERE name = ?", (name,))

    def push_producer(self, client_id: str) -> PushProducerRow | None:
        rows = self._read(
            "SELECT client_id, epoch, producer_id, used_ms FROM push_producers WHERE client_id = ?", (client_id,)
        )
        return PushProducerRow(*rows[0]) if rows else None

    def put_push_producer(self, row: PushProducerRow) -> None:
        with self._writing() as database:
            database.execute("INSERT OR REPLACE INTO push_producers VALUES (?, ?, ?, ?)", row)

    def forget_push_producers(self, unused_since_ms: int) -> int:
        """Those of clients that have gone; how many."""
        with self._writing() as database:
            return database.execute("DELETE FROM push_producers WHERE used_ms < ?", (unused_since_ms,)).rowcount
