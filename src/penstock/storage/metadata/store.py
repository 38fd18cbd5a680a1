"""What segments cannot give back, in one durable SQLite file: cluster id, topics, configs, log starts,
epochs.

It is the truth, unlike the catalog: losing it loses topics. Every method is durable on return and may be
called from any thread; one lock serialises them (it is never held while calling out, so it has no order with
others). The tables are small: a broker of 10,000 partitions has a file of a few megabytes.

Why WAL with synchronous=FULL and not a rollback journal: both are durable at commit, but WAL pays one sync of
one append-only file where the journal pays three or four (journal, its directory entry, database, removal).
SQLite itself syncs the directory after creating the WAL, and we do it after creating the database.
"""

from __future__ import annotations

import base64
import contextlib
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId, TopicId
from penstock.runtime.files import RealFiles
from penstock.storage.metadata.push_tables import PushTables
from penstock.storage.metadata.schema import WITH_MIRRORS, MetadataError, missing, prepare

TOPIC_SCOPE = "topic"


class TopicRow(NamedTuple):
    """A topic as it is stored. Leader epoch of its partitions = boot of the store - first_boot."""

    name: str
    topic_id: TopicId
    partitions: int
    first_boot: int
    internal: bool
    replication_factor: int
    mirror: bool = False
    diverged: str = ""  # why a mirror has stopped to follow


class MetadataStore(PushTables):
    """The one owner of meta.db. `boot` rises by one at every open that may write."""

    def __init__(self, path: Path | None, *, read_only: bool = False, must_exist: bool = False) -> None:
        """`must_exist`: refuse to make a new one, because there is something that only the old one knew."""
        self._lock = threading.Lock()
        self._path = path
        if must_exist and path is not None and not path.exists():
            raise MetadataError(missing(str(path)))
        self._database = _open(path, read_only)
        try:
            name = "meta.db" if path is None else str(path)
            prepare(self._database, name, read_only=read_only, must_exist=must_exist)
            if path is not None and not read_only:
                RealFiles().sync_directory(path.parent)
            self.cluster_id, self.boot = self._identify(read_only)
        except (sqlite3.DatabaseError, KafkaError) as error:
            self._database.close()
            raise MetadataError(f"{path}: {error}; restore the file from a backup, it cannot be rebuilt") from error
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._database.close()

    # ------------------------------------------------------------------------------------------- topics

    def topics(self) -> list[TopicRow]:
        rows = self._read(
            f"SELECT name, topic_id, partitions, first_boot, internal, replication_factor, {self._mirror_columns()}"
            " FROM topics ORDER BY name"
        )
        return [
            TopicRow(name, uuid.UUID(bytes=key), partitions, boot, bool(internal), replicas, bool(mirror), diverged)
            for name, key, partitions, boot, internal, replicas, mirror, diverged in rows
        ]

    def create_topics(self, rows: Sequence[tuple[TopicRow, Mapping[str, str]]]) -> None:
        """All or none, with their explicit configs."""
        with self._writing() as database:
            for row, configs in rows:
                database.execute(
                    "INSERT INTO topics"
                    " (topic_id, name, partitions, first_boot, internal, replication_factor, mirror)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (row.topic_id.bytes, row.name, row.partitions, row.first_boot, row.internal,
                     row.replication_factor, row.mirror),
                )  # fmt: skip
                database.executemany(
                    "INSERT OR REPLACE INTO configs (scope, name, key, value) VALUES ('topic', ?, ?, ?)",
                    [(row.name, key, value) for key, value in configs.items()],
                )

    def delete_topic(self, topic_id: TopicId) -> None:
        """The topic, its configs, log starts and epochs; that its directory may go is recorded (`engine.trash`).

        Unknown ids are ignored: deletion may be repeated.
        """
        with self._writing() as database:
            found = database.execute("SELECT name FROM topics WHERE topic_id = ?", (topic_id.bytes,)).fetchone()
            if found is not None:
                database.execute("DELETE FROM configs WHERE scope = 'topic' AND name = ?", found)
                database.execute(
                    "INSERT OR REPLACE INTO deleted_topics (topic_id, name) VALUES (?, ?)", (topic_id.bytes, *found)
                )
            database.execute("DELETE FROM topics WHERE topic_id = ?", (topic_id.bytes,))

    def deleted_topics(self) -> dict[TopicId, str]:
        """Names of deleted topics whose directories may still be on the disk."""
        rows = self._read("SELECT topic_id, name FROM deleted_topics")
        return {uuid.UUID(bytes=key): name for key, name in rows}

    def forget_deleted(self, topic_ids: Sequence[TopicId]) -> None:
        """Nothing is left of these topics."""
        with self._writing() as database:
            database.executemany(
                "DELETE FROM deleted_topics WHERE topic_id = ?", [(topic_id.bytes,) for topic_id in topic_ids]
            )

    def set_partitions(self, topic_id: TopicId, count: int) -> None:
        with self._writing() as database:
            database.execute("UPDATE topics SET partitions = ? WHERE topic_id = ?", (count, topic_id.bytes))

    def set_diverged(self, topic_id: TopicId, reason: str) -> None:
        """A mirror stops to follow its parent."""
        with self._writing() as database:
            database.execute("UPDATE topics SET diverged = ? WHERE topic_id = ?", (reason, topic_id.bytes))

    # ------------------------------------------------------------------------------------------ configs

    def configs(self, scope: str, name: str) -> dict[str, str]:
        return dict(self._read("SELECT key, value FROM configs WHERE scope = ? AND name = ?", (scope, name)))

    def all_configs(self) -> dict[tuple[str, str], dict[str, str]]:
        found: dict[tuple[str, str], dict[str, str]] = {}
        for scope, name, key, value in self._read("SELECT scope, name, key, value FROM configs"):
            found.setdefault((scope, name), {})[key] = value
        return found

    def set_configs(self, scope: str, name: str, changes: Mapping[str, str | None]) -> None:
        """Set some keys; None deletes one. Keys that are not named stay as they are."""
        with self._writing() as database:
            for key, value in changes.items():
                if value is None:
                    database.execute("DELETE FROM configs WHERE scope = ? AND name = ? AND key = ?", (scope, name, key))
                else:
                    database.execute(
                        "INSERT OR REPLACE INTO configs (scope, name, key, value) VALUES (?, ?, ?, ?)",
                        (scope, name, key, value),
                    )

    # ------------------------------------------------------------------------------------------- quotas

    def quotas(self) -> list[tuple[str, str, str]]:
        """(entity, key, value), of which only the broker knows what they mean."""
        return self._read("SELECT entity, key, value FROM quotas")

    def set_quotas(self, rows: Sequence[tuple[str, str, str | None]]) -> None:
        """Set some, all or none; a value of None deletes one."""
        with self._writing() as database:
            database.executemany(
                "INSERT OR REPLACE INTO quotas (entity, key, value) VALUES (?, ?, ?)",
                [row for row in rows if row[2] is not None],
            )
            database.executemany(
                "DELETE FROM quotas WHERE entity = ? AND key = ?",
                [(entity, key) for entity, key, value in rows if value is None],
            )

    # ------------------------------------------------------------------------------------- producer ids

    def next_producer_id_block(self, size: int = 1000) -> int:
        """First id of a block that nobody ever had: a reused id would make new records look like
        duplicates.
        """
        with self._writing() as database:
            row = database.execute("SELECT value FROM counters WHERE name = 'producer_id'").fetchone()
            first = row[0] if row else 0
            database.execute("INSERT OR REPLACE INTO counters (name, value) VALUES ('producer_id', ?)", (first + size,))
        return int(first)

    # ------------------------------------------------------------------------------ log starts and epochs

    def log_starts(self) -> dict[PartitionId, int]:
        rows = self._read("SELECT topic_id, partition, log_start FROM log_starts")
        return {PartitionId(uuid.UUID(bytes=key), partition): start for key, partition, start in rows}

    def set_log_start(self, partition: PartitionId, offset: int) -> None:
        """Never lowered: threads may come in any order. Ignored for a topic that is gone: retention may still be
        at work on a log that is being deleted.
        """
        with self._writing() as database:
            database.execute(
                "INSERT INTO log_starts (topic_id, partition, log_start)"
                " SELECT topic_id, ?, ? FROM topics WHERE topic_id = ?"
                " ON CONFLICT DO UPDATE SET log_start = max(log_start, excluded.log_start)",
                (partition.partition, offset, partition.topic_id.bytes),
            )

    def epochs(self, partition: PartitionId) -> list[tuple[int, int]]:
        """(epoch, start offset), rising."""
        return self._read(
            "SELECT epoch, start_offset FROM epochs WHERE topic_id = ? AND partition = ? ORDER BY epoch",
            (partition.topic_id.bytes, partition.partition),
        )

    def all_epochs(self) -> dict[PartitionId, list[tuple[int, int]]]:
        """Of every partition that has any."""
        found: dict[PartitionId, list[tuple[int, int]]] = {}
        for key, partition, epoch, start in self._read(
            "SELECT topic_id, partition, epoch, start_offset FROM epochs ORDER BY epoch"
        ):
            found.setdefault(PartitionId(uuid.UUID(bytes=key), partition), []).append((epoch, start))
        return found

    def add_epoch(self, partition: PartitionId, epoch: int, start_offset: int) -> None:
        with self._writing() as database:
            _insert_epochs(database, partition, [(epoch, start_offset)])

    def replace_epochs(self, partition: PartitionId, epochs: Sequence[tuple[int, int]]) -> None:
        """Set the whole list: after a truncation, or when old epochs hold no records any more."""
        with self._writing() as database:
            database.execute(
                "DELETE FROM epochs WHERE topic_id = ? AND partition = ?",
                (partition.topic_id.bytes, partition.partition),
            )
            _insert_epochs(database, partition, epochs)

    # ---------------------------------------------------------------------------------------- internals

    def _identify(self, read_only: bool) -> tuple[str, int]:
        """Cluster id (made at the first open, 22 characters like Kafka's) and the number of this boot."""
        known = dict(self._read("SELECT name, value FROM identity"))
        boot = int(known.get("boot", -1))
        if read_only:
            return known.get("cluster_id", ""), boot
        cluster_id = known.get("cluster_id") or base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()
        boot += 1
        with self._writing() as database:
            database.executemany(
                "INSERT OR REPLACE INTO identity (name, value) VALUES (?, ?)",
                [("cluster_id", cluster_id), ("boot", str(boot))],
            )
        return cluster_id, boot

    def _mirror_columns(self) -> str:
        """Whoever only reads may find tables from before there were mirrors."""
        ((version,),) = self._read("PRAGMA user_version")
        return "mirror, diverged" if version >= WITH_MIRRORS else "0, ''"

    def _read(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock, _kafka_errors(self._path):
            return self._database.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: committed (and synced) when the block ends, undone when it raises."""
        with self._lock, _kafka_errors(self._path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise


def _open(path: Path | None, read_only: bool) -> sqlite3.Connection:
    """Autocommit mode: transactions are begun and ended by name, here and nowhere else."""
    try:
        if path is None:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        mode = "ro" if read_only else "rwc"
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise MetadataError(f"{path}: {error}") from error


def _insert_epochs(database: sqlite3.Connection, partition: PartitionId, epochs: Sequence[tuple[int, int]]) -> None:
    database.executemany(
        "INSERT OR REPLACE INTO epochs (topic_id, partition, epoch, start_offset)"
        " SELECT topic_id, ?, ?, ? FROM topics WHERE topic_id = ?",
        [(partition.partition, epoch, start, partition.topic_id.bytes) for epoch, start in epochs],
    )


@contextlib.contextmanager
def _kafka_errors(path: Path | None) -> Iterator[None]:
    """A full or failing disk is an answer to the client; a broken constraint or statement is a bug of ours
    and stays one.
    """
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.DatabaseError as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"metadata store {path}: {error}") from error
