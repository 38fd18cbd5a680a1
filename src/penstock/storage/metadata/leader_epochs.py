"""The table `leader_epochs`: the epoch in which each partition is led.

A partition of a new topic begins with epoch 0, and every start of the node raises all epochs by one: a client that read
something before a crash can tell that it may not be there any more. Mirrors have no rows, since they have no leader.

The functions with a connection run inside a transaction of the caller, so that an epoch is stored together with the
change that it belongs to.
"""

from __future__ import annotations

import sqlite3

from penstock.model.ids import PartitionId, TopicId
from penstock.storage.metadata.database import MetadataDatabase


class StoredLeaderEpochs:
    """Durable on return, any thread."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def all(self) -> dict[bytes, list[int]]:
        """Epochs of every topic that has any, by the bytes of its id: each start reads them all."""
        found: dict[bytes, list[int]] = {}
        for topic_id, epoch in self._database.read(
            "SELECT topic_id, epoch FROM leader_epochs ORDER BY topic_id, partition"
        ):
            found.setdefault(topic_id, []).append(epoch)
        return found

    def set(self, partition: PartitionId, epoch: int) -> None:
        """Another leadership of one partition begins. Never lowered; unknown partitions are ignored."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE leader_epochs SET epoch = max(epoch, ?) WHERE topic_id = ? AND partition = ?",
                (epoch, partition.topic_id.bytes, partition.partition),
            )


def raise_all(connection: sqlite3.Connection) -> None:
    """Begin another leadership of every partition: one statement, whatever their number."""
    connection.execute("UPDATE leader_epochs SET epoch = epoch + 1")


def begin(connection: sqlite3.Connection, topic_id: TopicId, partitions: range, epoch: int) -> None:
    """Store the epoch of new partitions."""
    connection.executemany(
        "INSERT INTO leader_epochs (topic_id, partition, epoch) VALUES (?, ?, ?)",
        [(topic_id.bytes, partition, epoch) for partition in partitions],
    )
