"""The tables `topics` and `deleted_topics`."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, TopicId
from penstock.storage.metadata import leader_epochs
from penstock.storage.metadata.database import MetadataDatabase
from penstock.storage.metadata.schema import WITH_MIRRORS


class TopicRow(NamedTuple):
    """A topic as it is stored."""

    name: str
    topic_id: TopicId
    partitions: int
    internal: bool
    replication_factor: int
    mirror: bool = False
    diverged: str = ""  # why a mirror does not follow its parent any more


class UnknownTopic(KafkaError):
    """Something was to be stored for a topic that has no row: it was deleted, or never created."""

    def __init__(self, topic_id: TopicId) -> None:
        super().__init__(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic of id {topic_id}")


class StoredTopics:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def all(self) -> list[TopicRow]:
        """Return all topics, by name."""
        rows = self._database.read(
            f"SELECT name, topic_id, partitions, internal, replication_factor, {self._mirror_columns()}"
            " FROM topics ORDER BY name"
        )
        return [
            TopicRow(name, uuid.UUID(bytes=key), partitions, bool(internal), replicas, bool(mirror), diverged)
            for name, key, partitions, internal, replicas, mirror, diverged in rows
        ]

    def create(self, rows: Sequence[tuple[TopicRow, Mapping[str, str]]]) -> None:
        """All or none, with their explicit configs. Partitions begin with leader epoch 0, but those of mirrors."""
        with self._database.transaction() as connection:
            for row, configs in rows:
                connection.execute(
                    "INSERT INTO topics"
                    " (topic_id, name, partitions, internal, replication_factor, mirror) VALUES (?, ?, ?, ?, ?, ?)",
                    (row.topic_id.bytes, row.name, row.partitions, row.internal, row.replication_factor, row.mirror),
                )
                if not row.mirror:
                    leader_epochs.begin(connection, row.topic_id, range(row.partitions), 0)
                connection.executemany(
                    "INSERT OR REPLACE INTO configs (scope, name, key, value) VALUES ('topic', ?, ?, ?)",
                    [(row.name, key, value) for key, value in configs.items()],
                )

    def delete(self, topic_id: TopicId) -> None:
        """The topic, its configs, log starts and epochs; that its directory may go is recorded (`engine.trash`).

        Unknown ids are ignored: deletion may be repeated.
        """
        with self._database.transaction() as connection:
            found = connection.execute("SELECT name FROM topics WHERE topic_id = ?", (topic_id.bytes,)).fetchone()
            if found is not None:
                connection.execute("DELETE FROM configs WHERE scope = 'topic' AND name = ?", found)
                connection.execute(
                    "INSERT OR REPLACE INTO deleted_topics (topic_id, name) VALUES (?, ?)", (topic_id.bytes, *found)
                )
            connection.execute("DELETE FROM topics WHERE topic_id = ?", (topic_id.bytes,))

    def deleted(self) -> dict[TopicId, str]:
        """Names of deleted topics whose directories may still be on the disk."""
        rows = self._database.read("SELECT topic_id, name FROM deleted_topics")
        return {uuid.UUID(bytes=key): name for key, name in rows}

    def forget_deleted(self, topic_ids: Sequence[TopicId]) -> None:
        """Forget deleted topics of which nothing is left."""
        with self._database.transaction() as connection:
            connection.executemany(
                "DELETE FROM deleted_topics WHERE topic_id = ?", [(topic_id.bytes,) for topic_id in topic_ids]
            )

    def set_partitions(self, topic_id: TopicId, count: int, leader_epoch: int) -> None:
        """Add partitions with a leader epoch, or without a leader (NO_EPOCH). UnknownTopic if there is no topic."""
        with self._database.transaction() as connection:
            found = connection.execute("SELECT partitions FROM topics WHERE topic_id = ?", (topic_id.bytes,)).fetchone()
            if found is None:
                raise UnknownTopic(topic_id)
            connection.execute("UPDATE topics SET partitions = ? WHERE topic_id = ?", (count, topic_id.bytes))
            if leader_epoch != NO_EPOCH:
                leader_epochs.begin(connection, topic_id, range(found[0], count), leader_epoch)

    def set_diverged(self, topic_id: TopicId, reason: str) -> None:
        """Store that a mirror no longer follows its parent. UnknownTopic if there is no topic."""
        with self._database.transaction() as connection:
            statement = "UPDATE topics SET diverged = ? WHERE topic_id = ?"
            _check_found(connection.execute(statement, (reason, topic_id.bytes)), topic_id)

    def _mirror_columns(self) -> str:
        """Columns of mirrors; a read-only store may have tables without them, from before there were mirrors."""
        return "mirror, diverged" if self._database.version() >= WITH_MIRRORS else "0, ''"


def _check_found(cursor: sqlite3.Cursor, topic_id: TopicId) -> None:
    if cursor.rowcount == 0:
        raise UnknownTopic(topic_id)
