"""The SQLite connection behind the metadata tables: one lock, explicit transactions, durable commits.

Why WAL with synchronous=FULL and not a rollback journal: both are durable at commit, but WAL pays one sync of one
append-only file where the journal pays three or four (journal, its directory entry, database, removal). SQLite itself
syncs the directory after creating the WAL, and we do it after creating the database.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.files import RealFiles
from penstock.runtime.private_files import make_private
from penstock.storage.metadata.schema import MetadataError, missing, prepare

OnCommit = Callable[[sqlite3.Connection], None]

RESERVE_BYTES = 512 * 1024
"""Pages that deleting a large topic may touch; see `_reserve_room`."""


class MetadataDatabase:
    """One connection for all tables. Any thread; the lock is never held while calling out, so it has no order with
    others.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        read_only: bool = False,
        must_exist: bool = False,
        on_commit: OnCommit | None = None,
    ) -> None:
        """Open the file, or for None a database in memory.

        `must_exist`: refuse to make a new one, because there are records that only the old one knew. `on_commit` is
        called under the lock after every commit, to follow the file's content.
        """
        self._lock = threading.Lock()
        self._path = path
        self._on_commit = on_commit
        self.read_only = read_only
        if must_exist and path is not None and not path.exists():
            raise MetadataError(missing(str(path)))
        self.connection = _connect(path, read_only)
        try:
            prepare(self.connection, self.name, read_only=read_only, must_exist=must_exist)
            if path is not None and not read_only:
                RealFiles().sync_directory(path.parent)
                self._reserve_room(path)
        except (sqlite3.DatabaseError, KafkaError) as error:
            self.connection.close()
            raise self.unusable(error) from error
        except BaseException:
            self.connection.close()
            raise

    def _reserve_room(self, path: Path) -> None:
        """Make the WAL and the free pages of the database large enough for changes on a full disk.

        A topic must be deletable exactly then. SQLite writes a WAL again from its beginning once it was checkpointed
        and never shortens it while the database is in use, so a WAL that was large stays large, also through a crash.
        Where there is no room now, the one of an earlier start may be there.
        """
        wal = path.with_name(f"{path.name}-wal")
        try:
            if not wal.exists() or wal.stat().st_size < RESERVE_BYTES:
                self.connection.execute("CREATE TABLE IF NOT EXISTS reserve (room BLOB)")
                self.connection.execute("INSERT INTO reserve VALUES (zeroblob(?))", (RESERVE_BYTES,))
        except sqlite3.OperationalError:  # the disk is full
            pass
        with contextlib.suppress(sqlite3.OperationalError):
            self.connection.execute("DROP TABLE IF EXISTS reserve")
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            self.connection.execute("PRAGMA shrink_memory")  # the pages of the reserve are of no use in memory

    @property
    def name(self) -> str:
        return "meta.db" if self._path is None else str(self._path)

    def unusable(self, error: Exception) -> MetadataError:
        return MetadataError(f"{self._path}: {error}; restore the file from a backup, it cannot be rebuilt")

    def version(self) -> int:
        """The schema's; a reader may find one from before the current version."""
        ((version,),) = self.read("PRAGMA user_version")
        return int(version)

    def read(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock, self._kafka_errors():
            return self.connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Committed (and synced) when the block ends, undone when it raises."""
        with self._lock, self._kafka_errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            if self._on_commit is not None:
                self._on_commit(self.connection)

    def close(self) -> None:
        with self._lock:
            self.connection.close()

    @contextlib.contextmanager
    def _kafka_errors(self) -> Iterator[None]:
        """A full or failing disk is an answer to the client; a broken constraint or statement is a bug of ours and
        stays one.
        """
        try:
            yield
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.DatabaseError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"metadata store {self._path}: {error}") from error


def _connect(path: Path | None, read_only: bool) -> sqlite3.Connection:
    """Autocommit mode: transactions are begun and ended by name, in `transaction` and nowhere else."""
    try:
        if path is None:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        mode = "ro" if read_only else "rwc"
        if not read_only:
            make_private(path)
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise MetadataError(f"{path}: {error}") from error
