"""The registry on disk: one SQLite file, durable at every return (WAL, synchronous=FULL).

    DATA/registry.lock   flock of the process that uses it
    DATA/registry.db     identity  registry_id, version: the last one given out
                         members   one row a node

Times are not stored, and a poll that changes nothing writes nothing. `PRAGMA user_version` is the schema's version;
a newer one is refused. Calls may come from any thread, one at a time.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.model.role import Role
from penstock.runtime.files import RealFiles
from penstock.runtime.private_files import make_private, warn_if_shared
from penstock.storage.data_directory import DataDirectoryError
from penstock.storage.lock import DirectoryLock
from penstock.topology.model import Topology
from penstock.topology.registry.hierarchy import Changes
from penstock.topology.registry.member import Member

SCHEMA_VERSION = 2
_SCHEMA = """
CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE members (
    node_id TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    instance_id TEXT,
    url TEXT,
    site TEXT,
    poll_interval_ms INTEGER NOT NULL,
    parent TEXT,
    pinned TEXT,
    live INTEGER NOT NULL,
    lapses INTEGER NOT NULL,
    told TEXT
) STRICT, WITHOUT ROWID;
"""
_MIGRATIONS = (_SCHEMA, "ALTER TABLE members ADD COLUMN principal TEXT;")
"""From each version to the next; scripts of earlier versions never change."""
_COLUMNS = "node_id, role, instance_id, url, site, poll_interval_ms, parent, pinned, live, lapses, told, principal"


class RegistryStore:
    """The only owner of registry.db. A problem with the directory is a DataDirectoryError that names the remedy."""

    def __init__(self, directory: Path) -> None:
        files = RealFiles()
        try:
            files.make_directories(directory)
            warn_if_shared(directory)
        except OSError as error:
            raise DataDirectoryError(
                f"{directory} cannot be made ({error.strerror}); change its owner or mode, or choose another --data-dir"
            ) from error
        self._path = directory / "registry.db"
        self._lock = DirectoryLock(directory / "registry.lock")
        with contextlib.ExitStack() as undo:
            undo.callback(self._lock.release)
            make_private(self._path)
            self._database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            undo.callback(self._database.close)
            try:
                self._prepare()
            except sqlite3.DatabaseError as error:
                raise DataDirectoryError(
                    f"{self._path}: {error}; restore it, or move it away: nodes register again"
                ) from error
            files.sync_directory(directory)
            undo.pop_all()

    def close(self) -> None:
        self._database.close()
        self._lock.release()

    def _prepare(self) -> None:
        version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise DataDirectoryError(
                f"{self._path} was written by a newer Penstock; start that version, or a newer one"
            )
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        problem = self._database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
        if version < SCHEMA_VERSION:
            scripts = " ".join(_MIGRATIONS[version:])
            self._database.executescript(f"BEGIN; {scripts} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
        with self._writing() as database:
            database.execute(
                "INSERT OR IGNORE INTO identity VALUES ('registry_id', ?), ('version', '0')", (uuid.uuid4().hex[:12],)
            )
        self.registry_id = self._identity("registry_id")

    @property
    def version(self) -> int:
        return int(self._identity("version"))

    def members(self) -> list[Member]:
        return [_member(row) for row in self._database.execute(f"SELECT {_COLUMNS} FROM members ORDER BY node_id")]

    def save(self, changes: Changes) -> None:
        """Store all changes or none; they are on disk at return."""
        with self._writing() as database:
            database.executemany("DELETE FROM members WHERE node_id = ?", [(node_id,) for node_id in changes.removed])
            database.executemany(
                f"INSERT OR REPLACE INTO members ({_COLUMNS}) VALUES ({', '.join('?' * 12)})",
                [_row(member) for member in changes.members],
            )
            database.execute("UPDATE identity SET value = ? WHERE name = 'version'", (str(changes.version),))

    def _identity(self, name: str) -> str:
        value: str = self._database.execute("SELECT value FROM identity WHERE name = ?", (name,)).fetchone()[0]
        return value

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        try:
            self._database.execute("COMMIT")
        except sqlite3.DatabaseError:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise


def _row(member: Member) -> tuple[Any, ...]:
    answer = member.answer
    document = None
    if answer is not None:
        document = json.dumps([answer.version, answer.role, answer.parent_url, answer.fallbacks])
    return (
        member.node_id, member.role, member.instance_id, member.url, member.site, member.poll_interval_ms,
        member.parent, member.pinned, member.live, member.lapses, document, member.principal,
    )  # fmt: skip


def _member(row: tuple[Any, ...]) -> Member:
    node_id, role, instance_id, url, site, poll_interval_ms, parent, pinned, live, lapses, document, principal = row
    answer = None
    if document is not None:
        version, role_name, parent_url, fallbacks = json.loads(document)
        answer = Topology(
            node_id=node_id, version=version, role=Role(role_name), parent_url=parent_url, fallbacks=tuple(fallbacks)
        )
    return Member(
        node_id=node_id, role=Role(role), instance_id=instance_id, url=url, site=site,
        poll_interval_ms=poll_interval_ms, parent=parent, pinned=pinned, live=bool(live), lapses=lapses, answer=answer,
        principal=principal,
    )  # fmt: skip
