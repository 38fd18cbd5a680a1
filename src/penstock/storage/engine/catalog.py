"""The catalog of segments, known without opening logs: a SQLite file that is derived and may be deleted at any time.

    partitions   topic id, partition, name; first_dirty: where compaction goes on
    segments     base offset, end offset, bytes, first and largest timestamp, per partition

Segments are written at a clean stop and believed only after one; otherwise they are forgotten and come back as logs are
opened. `first_dirty` is believed always: too low means compacting again, and it is never too high. Commits are not
synced, since nothing depends on them. A file that does not read well is thrown away and made again.

A disk that is full or fails costs entries, never the caller: the catalog then goes on in memory.

Owned by the engine; called on the event loop's thread only.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.model.ids import PartitionId
from penstock.runtime.private_files import make_private
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.time_index import Times

logger = logging.getLogger(__name__)

_SCHEMA_VERSION = 1
_SCHEMA = f"""
CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    topic_id BLOB NOT NULL,
    partition INTEGER NOT NULL,
    topic TEXT NOT NULL,
    first_dirty INTEGER NOT NULL DEFAULT 0,
    UNIQUE (topic_id, partition)
) STRICT;
CREATE TABLE segments (
    partition INTEGER NOT NULL REFERENCES partitions ON DELETE CASCADE,
    base_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    size INTEGER NOT NULL,
    first_timestamp INTEGER NOT NULL,
    largest_timestamp INTEGER NOT NULL,
    largest_timestamp_offset INTEGER NOT NULL,
    PRIMARY KEY (partition, base_offset)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = {_SCHEMA_VERSION};
"""


class CataloguedLog(NamedTuple):
    """One log's segments, oldest first."""

    topic: str
    partition: PartitionId
    segments: list[SegmentEntry]


class Catalog:
    """The catalog of one data directory; None is one in memory."""

    def __init__(self, path: Path | None, *, trusted: bool = False) -> None:
        """`trusted`: the last stop was clean, so the segments are what is on disk."""
        self._path = path
        try:
            self._database = self._open()
        except sqlite3.DatabaseError as error:
            self._database = self._open_again(error)
        if not trusted:
            with self._forgiving() as database:
                database.execute("DELETE FROM segments")

    def close(self) -> None:
        self._database.close()

    def record(self, logs: Iterable[CataloguedLog]) -> None:
        """Store the segments of these logs, in one transaction."""
        with self._forgiving() as database:
            database.execute("BEGIN")
            for log in logs:
                number = self._number(log.partition, log.topic)
                database.execute("DELETE FROM segments WHERE partition = ?", (number,))
                database.executemany(
                    "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [(number, *entry[:3], *entry.times) for entry in log.segments],
                )
            database.execute("COMMIT")

    def segments(self, partition: PartitionId) -> list[SegmentEntry]:
        """Empty if nothing is known."""
        rows = self._database.execute(
            "SELECT base_offset, end_offset, size, first_timestamp, largest_timestamp, largest_timestamp_offset"
            " FROM segments JOIN partitions ON partitions.id = segments.partition"
            " WHERE topic_id = ? AND partitions.partition = ? ORDER BY base_offset",
            (partition.topic_id.bytes, partition.partition),
        )
        return [SegmentEntry(base, end, size, Times(*times)) for base, end, size, *times in rows]

    def first_dirty(self, partition: PartitionId) -> int:
        row = self._database.execute(
            "SELECT first_dirty FROM partitions WHERE topic_id = ? AND partition = ?",
            (partition.topic_id.bytes, partition.partition),
        ).fetchone()
        return 0 if row is None else int(row[0])

    def set_first_dirty(self, partition: PartitionId, topic: str, offset: int) -> None:
        with self._forgiving() as database:
            number = self._number(partition, topic)
            database.execute("UPDATE partitions SET first_dirty = ? WHERE id = ?", (offset, number))

    def forget(self, partition: PartitionId) -> None:
        with self._forgiving() as database:
            database.execute(
                "DELETE FROM partitions WHERE topic_id = ? AND partition = ?",
                (partition.topic_id.bytes, partition.partition),
            )

    @contextlib.contextmanager
    def _forgiving(self) -> Iterator[sqlite3.Connection]:
        """Give up the file after an error: half of what it says may be old."""
        try:
            yield self._database
        except sqlite3.DatabaseError as error:
            self._database.close()
            self._database = self._open_again(error)

    def _open_again(self, error: sqlite3.DatabaseError) -> sqlite3.Connection:
        path = self._path
        if path is None:
            raise error
        logger.warning("%s is made again: %s", path, error)
        try:
            for name in (path, path.with_name(path.name + "-journal")):
                name.unlink(missing_ok=True)
            return self._open()
        except (OSError, sqlite3.DatabaseError) as second:
            logger.warning("the catalog is kept in memory: %s", second)
            self._path = None
            return self._open()

    def _number(self, partition: PartitionId, topic: str) -> int:
        key = (partition.topic_id.bytes, partition.partition)
        find = "SELECT id FROM partitions WHERE topic_id = ? AND partition = ?"
        row = self._database.execute(find, key).fetchone()
        if row is None:
            self._database.execute(
                "INSERT INTO partitions (topic_id, partition, topic) VALUES (?, ?, ?)", (*key, topic)
            )
            row = self._database.execute(find, key).fetchone()
        return int(row[0])

    def _open(self) -> sqlite3.Connection:
        if self._path is not None:
            make_private(self._path)
        # Closed by whichever thread ends the engine, hence check_same_thread.
        database = sqlite3.connect(self._path or ":memory:", isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA synchronous = OFF")
            database.execute("PRAGMA foreign_keys = ON")
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                database.executescript(_SCHEMA)
            elif version != _SCHEMA_VERSION:
                raise sqlite3.DatabaseError(f"schema {version} is not {_SCHEMA_VERSION}")
            if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("it is damaged")
        except BaseException:
            database.close()
            raise
        return database
