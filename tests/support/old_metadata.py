"""meta.db as programs of earlier schemas left it, to be migrated."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from penstock.storage.metadata.schema import SCHEMA_VERSION

_UNDO = {
    10: "DROP TABLE tokens;",
    9: "DROP TABLE push_producers;"
    "CREATE TABLE push_producers (client_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, producer_id INTEGER NOT NULL,"
    " used_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
    8: "DROP TABLE acls;",
    7: "DROP TABLE scram_credentials;",
    6: "DROP TABLE leader_epochs; ALTER TABLE topics ADD COLUMN first_boot INTEGER NOT NULL DEFAULT 0;",
    5: "DROP TABLE subscriptions; DROP TABLE push_producers;",
    4: "ALTER TABLE topics DROP COLUMN mirror; ALTER TABLE topics DROP COLUMN diverged;",
    3: "DROP TABLE quotas;",
    2: "DROP TABLE deleted_topics;",
}


def take_back_to(path: Path, version: int) -> None:
    """Undo the steps of later schemas; rows of their tables are gone."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        for later in range(SCHEMA_VERSION, version, -1):
            database.executescript(_UNDO[later])
        database.executescript(f"PRAGMA user_version = {version}")
