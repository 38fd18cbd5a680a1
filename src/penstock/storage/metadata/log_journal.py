"""The tables `log_starts` and `epochs`: facts that the segments of a log cannot give back.

A log start that is not stored while segments go would make the next start find a log whose beginning is missing, which
is damage. So a partition without a topic is an error here, never a statement that quietly changes nothing: the caller
removes no file. It happens to a log whose topic is deleted while retention is at work on it.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence

from penstock.model.ids import PartitionId, TopicId
from penstock.storage.metadata.database import MetadataDatabase
from penstock.storage.metadata.topics import UnknownTopic


class StoredLogs:
    """Implements `flush.flushable.LogJournal`. Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def log_starts(self) -> dict[PartitionId, int]:
        """Return the log start of every partition whose first records were deleted."""
        rows = self._database.read("SELECT topic_id, partition, log_start FROM log_starts")
        return {PartitionId(uuid.UUID(bytes=key), partition): start for key, partition, start in rows}

    def set_log_start(self, partition: PartitionId, offset: int) -> None:
        """Raise the log start; never lowered, since threads may come in any order. UnknownTopic."""
        with self._database.transaction() as connection:
            _check_topic(connection, partition.topic_id)
            connection.execute(
                "INSERT INTO log_starts (topic_id, partition, log_start) VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET log_start = max(log_start, excluded.log_start)",
                (partition.topic_id.bytes, partition.partition, offset),
            )

    def epochs(self, partition: PartitionId) -> list[tuple[int, int]]:
        """(epoch, start offset), rising."""
        return self._database.read(
            "SELECT epoch, start_offset FROM epochs WHERE topic_id = ? AND partition = ? ORDER BY epoch",
            (partition.topic_id.bytes, partition.partition),
        )

    def all_epochs(self) -> dict[PartitionId, list[tuple[int, int]]]:
        """Return the leader epochs of every partition that has any."""
        found: dict[PartitionId, list[tuple[int, int]]] = {}
        for key, partition, epoch, start in self._database.read(
            "SELECT topic_id, partition, epoch, start_offset FROM epochs ORDER BY epoch"
        ):
            found.setdefault(PartitionId(uuid.UUID(bytes=key), partition), []).append((epoch, start))
        return found

    def replace_epochs(self, partition: PartitionId, epochs: Sequence[tuple[int, int]]) -> None:
        """Set the whole list: after a truncation, or when old epochs hold no records any more. UnknownTopic."""
        key = (partition.topic_id.bytes, partition.partition)
        with self._database.transaction() as connection:
            _check_topic(connection, partition.topic_id)
            connection.execute("DELETE FROM epochs WHERE topic_id = ? AND partition = ?", key)
            connection.executemany(
                "INSERT INTO epochs (topic_id, partition, epoch, start_offset) VALUES (?, ?, ?, ?)",
                [(*key, epoch, start) for epoch, start in epochs],
            )


def _check_topic(connection: sqlite3.Connection, topic_id: TopicId) -> None:
    if connection.execute("SELECT 1 FROM topics WHERE topic_id = ?", (topic_id.bytes,)).fetchone() is None:
        raise UnknownTopic(topic_id)
