"""The tables of meta.db and their version. `metadata.database` is the only user.

    identity    cluster_id, boot, by name
    topics      one row a topic; everything of a topic goes with its row (foreign keys); a mirror of a parent's topic
                says so, and why it stopped to follow it if it did
    configs     explicit configs by scope ('topic', 'broker', 'group', …) and name
    counters    producer_id: the first id not yet given out in a block
    log_starts  partitions whose first records were deleted
    epochs      where each leader epoch of a partition starts
    leader_epochs   the epoch in which a partition is led now; none for mirrors
    quotas      limits of clients: the entity as JSON, the key, the value as text (it may be no number)
    deleted_topics  topics that are gone while their directories may still be there
    subscriptions   of the push door; refresh_ends is null unless a refresh is under way
    push_producers  the producer id of a push client in its epoch, by principal and client id
    scram_credentials   keys of users by mechanism (1 SCRAM-SHA-256, 2 SCRAM-SHA-512); never passwords
    tokens      digests of words that stand for principals at HTTP ports; never the words
    acls        rules of the authorizer, with the numbers of Kafka's protocol

`PRAGMA user_version` is the schema's version; an older one is migrated step by step in one transaction, a
newer one is refused, because an old program would not keep what it does not know.
"""

from __future__ import annotations

import sqlite3

from penstock.storage.data_directory import DataDirectoryError

SCHEMA_VERSION = 10
WITH_MIRRORS = 4

_VERSION_1 = """
CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE topics (
    topic_id BLOB PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    partitions INTEGER NOT NULL CHECK (partitions > 0),
    first_boot INTEGER NOT NULL,
    internal INTEGER NOT NULL,
    replication_factor INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE configs (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (scope, name, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE log_starts (
    topic_id BLOB NOT NULL REFERENCES topics ON DELETE CASCADE,
    partition INTEGER NOT NULL,
    log_start INTEGER NOT NULL,
    PRIMARY KEY (topic_id, partition)
) STRICT, WITHOUT ROWID;
CREATE TABLE epochs (
    topic_id BLOB NOT NULL REFERENCES topics ON DELETE CASCADE,
    partition INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    PRIMARY KEY (topic_id, partition, epoch)
) STRICT, WITHOUT ROWID;
"""

_VERSION_2 = """
CREATE TABLE deleted_topics (topic_id BLOB PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""

_VERSION_3 = """
CREATE TABLE quotas (
    entity TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (entity, key)
) STRICT, WITHOUT ROWID;
"""

_VERSION_4 = """
ALTER TABLE topics ADD COLUMN mirror INTEGER NOT NULL DEFAULT 0;
ALTER TABLE topics ADD COLUMN diverged TEXT NOT NULL DEFAULT '';
"""

_VERSION_5 = """
CREATE TABLE subscriptions (
    name TEXT PRIMARY KEY,
    topic TEXT NOT NULL,
    by_key INTEGER NOT NULL,
    start_kind INTEGER NOT NULL,
    start_value INTEGER NOT NULL,
    refresh_id INTEGER NOT NULL,
    refresh_ends TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE push_producers (
    client_id TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    producer_id INTEGER NOT NULL,
    used_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

# Until here an epoch was the number of starts since the topic was made. The start that migrates raises it once more.
_VERSION_6 = """
CREATE TABLE leader_epochs (
    topic_id BLOB NOT NULL REFERENCES topics ON DELETE CASCADE,
    partition INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (topic_id, partition)
) STRICT, WITHOUT ROWID;
INSERT INTO leader_epochs (topic_id, partition, epoch)
    WITH RECURSIVE place (topic_id, partition, partitions, epoch) AS (
        SELECT topic_id, 0, partitions, (SELECT CAST(value AS INTEGER) FROM identity WHERE name = 'boot') - first_boot
            FROM topics WHERE mirror = 0
        UNION ALL
        SELECT topic_id, partition + 1, partitions, epoch FROM place WHERE partition + 1 < partitions
    )
    SELECT topic_id, partition, epoch FROM place;
ALTER TABLE topics DROP COLUMN first_boot;
"""

_VERSION_7 = """
CREATE TABLE scram_credentials (
    user TEXT NOT NULL,
    mechanism INTEGER NOT NULL,
    iterations INTEGER NOT NULL,
    salt BLOB NOT NULL,
    stored_key BLOB NOT NULL,
    server_key BLOB NOT NULL,
    PRIMARY KEY (user, mechanism)
) STRICT, WITHOUT ROWID;
"""

_VERSION_8 = """
CREATE TABLE acls (
    resource_type INTEGER NOT NULL,
    name TEXT NOT NULL,
    pattern_type INTEGER NOT NULL,
    principal TEXT NOT NULL,
    host TEXT NOT NULL,
    operation INTEGER NOT NULL,
    permission INTEGER NOT NULL,
    PRIMARY KEY (resource_type, name, pattern_type, principal, host, operation, permission)
) STRICT, WITHOUT ROWID;
"""

# A client id belongs to the principal that publishes under it; until here everybody was the same.
_VERSION_9 = """
CREATE TABLE push_producers_of_principals (
    principal TEXT NOT NULL,
    client_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    producer_id INTEGER NOT NULL,
    used_ms INTEGER NOT NULL,
    PRIMARY KEY (principal, client_id)
) STRICT, WITHOUT ROWID;
INSERT INTO push_producers_of_principals
    SELECT 'User:ANONYMOUS', client_id, epoch, producer_id, used_ms FROM push_producers;
DROP TABLE push_producers;
ALTER TABLE push_producers_of_principals RENAME TO push_producers;
"""

_VERSION_10 = """
CREATE TABLE tokens (
    token_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    name TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    digest BLOB NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
"""

# The script that leads from version n to n + 1 is at index n.
_MIGRATIONS = [
    _VERSION_1,
    _VERSION_2,
    _VERSION_3,
    _VERSION_4,
    _VERSION_5,
    _VERSION_6,
    _VERSION_7,
    _VERSION_8,
    _VERSION_9,
    _VERSION_10,
]


class MetadataError(DataDirectoryError):
    """The metadata store cannot be used as it is; the message says why and what to do."""


def missing(name: str) -> str:
    return (
        f"{name} is missing or empty, but there are records of topics that only it knows; restore it from a backup,"
        " or move the directory topics elsewhere to begin without them"
    )


def prepare(database: sqlite3.Connection, name: str, *, read_only: bool, must_exist: bool) -> None:
    """Settings that make a commit durable, a check of the file, and the tables of this version."""
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("PRAGMA synchronous = FULL")
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise MetadataError(
            f"{name} was written by a newer Penstock (schema {version}, this one knows {SCHEMA_VERSION});"
            " start that version, or a newer one"
        )
    if must_exist and version == 0:
        raise MetadataError(missing(name))
    if read_only:
        return
    database.execute("PRAGMA journal_mode = WAL")
    problem = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise MetadataError(f"{name} is damaged ({problem}); restore it from a backup, it cannot be rebuilt")
    for script in _MIGRATIONS[version:]:
        version += 1
        database.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {version}; COMMIT;")
