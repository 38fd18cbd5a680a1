"""The SQLite index of one generation: which message is where in the log. Derived, and may be deleted at any time.

    messages   offset, source partition, source offset, hash of the key, timestamp, checksum of the content
    meta       the generation it belongs to, and `covered`: all messages below are in it

It answers three questions: is this source offset stored already, and with which content; which messages lie in this
time, perhaps of one key; and which is the latest of a key. Keys are kept as hashes, so that a row is small whatever the
key is; readers compare the key itself.

WAL with synchronous=NORMAL: after a power cut the file is whole and may be a little behind, which `covered` tells. An
index that is damaged, belongs to another generation or holds more than the log is an IndexUnusable and is rebuilt.

Any thread. One connection writes, under a lock; every reader has its own.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from penstock.edge.messages import Place, Stored
from penstock.runtime.private_files import make_private

SCHEMA_VERSION = 1
_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE messages (
    offset INTEGER PRIMARY KEY,
    partition INTEGER NOT NULL,
    source_offset INTEGER NOT NULL,
    key_hash INTEGER,
    timestamp INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX by_place ON messages (partition, source_offset);
CREATE INDEX by_time ON messages (timestamp);
CREATE INDEX by_key_and_time ON messages (key_hash, timestamp) WHERE key_hash IS NOT NULL;
CREATE INDEX by_key_and_place ON messages (key_hash, partition, source_offset) WHERE key_hash IS NOT NULL;
PRAGMA user_version = {SCHEMA_VERSION};
"""
_PLACES_PER_QUERY = 300


class IndexUnusable(Exception):
    """An index that has to be deleted and rebuilt."""


class Moment(NamedTuple):
    """A point in the order by time, in which messages of the same time follow their offsets."""

    timestamp: int
    offset: int


def key_hash(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big", signed=True)


class Index:
    """Open from construction to `close`."""

    def __init__(self, path: Path, generation: str) -> None:
        """IndexUnusable if the existing file cannot be used."""
        self.path = path
        self._lock = threading.Lock()
        with _unusable():
            self._database = _connect(path, "rwc")
        try:
            with _unusable():
                self._prepare(generation)
                self.covered = int(self._meta("covered"))
        except BaseException:
            self._database.close()
            raise

    def _prepare(self, generation: str) -> None:
        database = self._database
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            database.executescript(_SCHEMA)
            database.executemany("INSERT INTO meta VALUES (?, ?)", [("generation", generation), ("covered", "0")])
            return
        if version != SCHEMA_VERSION:
            raise IndexUnusable(f"its schema is {version}, not {SCHEMA_VERSION}")
        if self._meta("generation") != generation:
            raise IndexUnusable("it belongs to another generation of the data")
        problem = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise IndexUnusable(f"it is damaged: {problem}")
        count = database.execute("SELECT count(*) FROM messages").fetchone()[0]
        if count != int(self._meta("covered")):
            raise IndexUnusable(f"it has {count} rows for {self._meta('covered')} messages")

    def close(self) -> None:
        with self._lock:
            self._database.close()

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(self, messages: Sequence[Stored]) -> None:
        """The next messages of the log. All or none."""
        rows = [
            (
                message.offset,
                message.place.partition,
                message.place.offset,
                None if message.key is None else key_hash(message.key),
                message.timestamp,
                message.checksum,
            )
            for message in messages
        ]
        covered = messages[-1].offset + 1
        with self._lock, _unusable():
            self._database.execute("BEGIN")
            try:
                self._database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", rows)
                self._database.execute("UPDATE meta SET value = ? WHERE name = 'covered'", (str(covered),))
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        self.covered = covered

    # --- by place --------------------------------------------------------------------------------------------------

    def highest(self) -> dict[int, int]:
        """The largest source offset of each source partition."""
        found: dict[int, int] = {}
        with self._reading() as database:
            partition = -1
            while True:
                # One step in the index for each partition, however many messages there are.
                query = "SELECT partition FROM messages WHERE partition > ? ORDER BY partition LIMIT 1"
                row = database.execute(query, (partition,)).fetchone()
                if row is None:
                    return found
                partition = row[0]
                query = "SELECT max(source_offset) FROM messages WHERE partition = ?"
                found[partition] = database.execute(query, (partition,)).fetchone()[0]

    def checksums(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the checksums of those places that are in the index."""
        found: dict[Place, int] = {}
        with self._reading() as database:
            for at in range(0, len(places), _PLACES_PER_QUERY):
                some = places[at : at + _PLACES_PER_QUERY]
                values = ", ".join(["(?, ?)"] * len(some))
                query = (
                    f"SELECT partition, source_offset, checksum FROM messages"
                    f" WHERE (partition, source_offset) IN (VALUES {values})"
                )
                rows = database.execute(query, [number for place in some for number in place])
                found.update((Place(partition, offset), checksum) for partition, offset, checksum in rows)
        return found

    # --- by key and time -------------------------------------------------------------------------------------------

    def in_time(self, after: Moment, before_ms: int, key: bytes | None, limit: int) -> list[Moment]:
        """Later than `after` and earlier than `before_ms`, in the order of time; with a key, those of its hash."""
        conditions = "(timestamp, offset) > (?, ?) AND timestamp < ?"
        values: list[int] = [*after, before_ms]
        if key is not None:
            conditions = "key_hash = ? AND " + conditions
            values.insert(0, key_hash(key))
        query = f"SELECT timestamp, offset FROM messages WHERE {conditions} ORDER BY timestamp, offset LIMIT ?"
        with self._reading() as database:
            return [Moment(*row) for row in database.execute(query, [*values, limit])]

    def latest_of(self, key: bytes, partitions: Iterable[int]) -> list[Moment]:
        """The last of each source partition that has the key's hash, the youngest first."""
        query = (
            "SELECT timestamp, offset FROM messages WHERE key_hash = ? AND partition = ?"
            " ORDER BY source_offset DESC LIMIT 1"
        )
        hashed = key_hash(key)
        with self._reading() as database:
            rows = (database.execute(query, (hashed, partition)).fetchone() for partition in partitions)
            return sorted((Moment(*row) for row in rows if row is not None), reverse=True)

    def latest_of_each_key(self) -> list[int]:
        """Offsets of the last message of each key in each source partition, rising."""
        query = (
            "SELECT offset, max(source_offset) FROM messages WHERE key_hash IS NOT NULL GROUP BY key_hash, partition"
        )
        with self._reading() as database:
            return sorted(offset for offset, _ in database.execute(query))

    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in files_of(self.path) if path.exists())

    def _meta(self, name: str) -> str:
        row = self._database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise IndexUnusable(f"it lacks its {name}")
        return str(row[0])

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with _unusable():
            database = _connect(self.path, "ro")
            try:
                yield database
            finally:
                database.close()


def files_of(path: Path) -> tuple[Path, ...]:
    return (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm"))


def delete_index(path: Path) -> None:
    for each in files_of(path):
        each.unlink(missing_ok=True)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    if mode == "rwc":
        make_private(path)
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=10
    )


@contextlib.contextmanager
def _unusable() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise IndexUnusable(str(error)) from error
