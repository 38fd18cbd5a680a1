"""A table of an SQLite database by its rowid or primary key, or a query in its own order.

    position  {"row": rows before, "checksum": CRC-32C of all rows before}

One read transaction lasts for the whole run: it sees the database as it was at the start. At
a restart the rows before the position are read again, which takes a second for a million, and must have the same
checksum: so rows that were changed, removed or inserted are noticed, and new ones at the end are loaded.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

from crc32c import crc32c

from penstock.bulk.errors import BulkError, Changed, Missing, Unfit
from penstock.bulk.rows import Piece, PieceLimits, Row, Source
from penstock.model.counted import counted

FETCH_ROWS = 1_000
_ROWID_NAMES = ("rowid", "_rowid_", "oid")
_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)


class SqliteSource(Source):
    """Rows of a table or of a query; exactly one of both is given."""

    kind = "sqlite"

    def __init__(self, path: Path, *, table: str | None = None, query: str | None = None) -> None:
        self.name = f"{path} ({table or 'query'})"
        self._database = _open(path)
        if (table is None) == (query is None):
            hint = f"name a table with --table ({_tables_of(self._database)}) or give a --query"
            raise Unfit(f"{path} is a database, of which one table or query can be loaded", hint)
        select = _ordered(query) if query is not None else _table_select(self._database, path, table or "")
        try:
            self._database.execute("BEGIN")  # with the first read: from here on nothing changes
            (self.total,) = self._database.execute(f"SELECT count(*) FROM ({select})").fetchone()
            self._cursor = self._database.execute(select)
        except sqlite3.Error as error:
            raise Unfit(f"{self.name}: {error}") from None
        self.columns = tuple(each[0] for each in self._cursor.description)
        self._row = 0
        self._checksum = 0

    def resume(self, position: dict[str, Any]) -> None:
        wanted = int(position["row"])
        while self._row < wanted and self._next(min(FETCH_ROWS, wanted - self._row)):
            pass
        if self._position() != position:
            hint = "give --job a new name to load it as it is now, from its first row"
            raise Changed(
                f"{self.name} has changed within the first {counted(wanted, 'row')}, which are already loaded", hint
            )

    def _position(self) -> dict[str, Any]:
        return {"row": self._row, "checksum": self._checksum}

    def read(self, limits: PieceLimits) -> Piece | None:
        rows: list[Row] = []
        size = 0
        while len(rows) < limits.rows and size < limits.size_bytes:
            number = self._row + 1
            found, found_bytes = self._next(min(FETCH_ROWS, limits.rows - len(rows))) or ([], 0)
            if not found:
                break
            size += found_bytes
            rows += [Row(number + index, values) for index, values in enumerate(found)]
        return Piece(rows, [], self._position(), self._row) if rows else None

    def _next(self, count: int) -> tuple[list[tuple[Any, ...]], int] | None:
        """Rows, and their approximate size in bytes."""
        try:
            found = self._cursor.fetchmany(count)
        except sqlite3.Error as error:
            raise BulkError(f"{self.name}, after row {self._row}: {error}") from None
        if not found:
            return None
        text = "\n".join(map(repr, found)).encode("utf-8", "surrogateescape") + b"\n"
        self._checksum = crc32c(text, self._checksum)
        self._row += len(found)
        return found, len(text)

    def close(self) -> None:
        self._database.close()


def _ordered(query: str) -> str:
    text = query.strip().rstrip(";")
    if not _ORDERED.search(text):
        hint = "add one over columns that together are unique"
        raise Unfit("the query has no ORDER BY, so that a restart would not know where it was", hint)
    return text


def _table_select(database: sqlite3.Connection, path: Path, table: str) -> str:
    found = database.execute("SELECT type FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    if found is None:
        raise Missing(f"{path} has no table {table}", f"it has {_tables_of(database)}")
    if found[0] != "table":
        hint = f'give it an order: --query "SELECT * FROM {table} ORDER BY …"'
        raise Unfit(f"{table} is a {found[0]}, whose rows have no order of their own", hint)
    return f"SELECT * FROM {_quoted(table)} ORDER BY {', '.join(_key_of(database, table))}"


def _key_of(database: sqlite3.Connection, table: str) -> list[str]:
    """The rowid, under a name that no column has; a table without one has a primary key."""
    columns = database.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    names = {column[1].lower() for column in columns}
    for name in _ROWID_NAMES:
        if name not in names:
            try:
                database.execute(f"SELECT {name} FROM {_quoted(table)} LIMIT 0")
            except sqlite3.OperationalError:
                break
            return [name]
    return [_quoted(name) for _, name in sorted((column[5], column[1]) for column in columns if column[5])]


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise Missing(f"file {path} does not exist")
    try:
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        database.execute("SELECT count(*) FROM sqlite_schema")
    except sqlite3.Error as error:
        raise Unfit(f"{path} cannot be read as an SQLite database: {error}") from None
    return database


def _tables_of(database: sqlite3.Connection) -> str:
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return ", ".join(names) or "no table"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
