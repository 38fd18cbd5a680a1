"""The metadata store: everything is there again after reopening, and a bad file is refused with a reason."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import uuid
from pathlib import Path

import pytest

from penstock.model.errors import ErrorCode
from penstock.model.ids import PartitionId
from penstock.storage.metadata.schema import SCHEMA_VERSION, MetadataError
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.metadata.topics import TopicRow, UnknownTopic
from penstock.storage.metadata.users import StoredCredential
from tests.support.old_metadata import take_back_to


def row(name: str, *, partitions: int = 3, internal: bool = False) -> TopicRow:
    return TopicRow(name, uuid.uuid5(uuid.NAMESPACE_DNS, name), partitions, internal, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "meta.db"


def test_cluster_id_stays_and_boot_rises(path: Path) -> None:
    first = MetadataStore(path)
    assert len(first.cluster_id) == 22
    assert first.boot == 0
    first.close()
    second = MetadataStore(path)
    assert (second.cluster_id, second.boot) == (first.cluster_id, 1)
    reader = MetadataStore(path, read_only=True)
    assert (reader.cluster_id, reader.boot) == (first.cluster_id, 1)
    reader.close()
    second.close()


def test_in_memory() -> None:
    store = MetadataStore(None)
    store.topics.create([(row("a"), {"retention.ms": "5"})])
    assert [topic.name for topic in store.topics.all()] == ["a"]
    assert store.configs.get("topic", "a") == {"retention.ms": "5"}


def test_topics_survive_reopening(path: Path) -> None:
    store = MetadataStore(path)
    rows = [row("b", internal=True), row("a", partitions=7)]
    store.topics.create([(item, {}) for item in rows])
    store.topics.set_partitions(rows[0].topic_id, 9, 0)
    store.close()
    store = MetadataStore(path)
    assert store.topics.all() == [rows[1], rows[0]._replace(partitions=9)]
    store.close()


def test_creation_is_all_or_nothing(path: Path) -> None:
    store = MetadataStore(path)
    store.topics.create([(row("a"), {})])
    with pytest.raises(sqlite3.IntegrityError):
        store.topics.create([(row("b"), {"x": "1"}), (row("a"), {})])
    assert [topic.name for topic in store.topics.all()] == ["a"]
    assert store.configs.get("topic", "b") == {}
    store.close()


def test_deleting_a_topic_takes_what_is_its_own(path: Path) -> None:
    store = MetadataStore(path)
    gone, stays = row("gone"), row("stays")
    store.topics.create([(gone, {"k": "v"}), (stays, {"k": "w"})])
    for topic in (gone, stays):
        store.logs.set_log_start(PartitionId(topic.topic_id, 1), 10)
        store.logs.replace_epochs(PartitionId(topic.topic_id, 1), [(0, 0)])
    store.topics.delete(gone.topic_id)
    store.topics.delete(gone.topic_id)
    assert store.topics.all() == [stays]
    assert store.configs.all() == {("topic", "stays"): {"k": "w"}}
    assert store.logs.log_starts() == {PartitionId(stays.topic_id, 1): 10}
    assert store.logs.epochs(PartitionId(gone.topic_id, 1)) == []
    assert store.logs.all_epochs() == {PartitionId(stays.topic_id, 1): [(0, 0)]}
    store.close()


def test_nothing_is_stored_for_a_topic_without_a_row(path: Path) -> None:
    """A log of a deleted topic may still be at work. It must be told: files that went would be missed at a start."""
    store = MetadataStore(path)
    gone = row("gone")
    store.topics.create([(gone, {})])
    store.topics.delete(gone.topic_id)
    partition = PartitionId(gone.topic_id, 1)
    for change in (
        lambda: store.logs.set_log_start(partition, 99),
        lambda: store.logs.replace_epochs(partition, [(7, 99)]),
        lambda: store.topics.set_partitions(gone.topic_id, 5, 0),
        lambda: store.topics.set_diverged(gone.topic_id, "its parent went on without it"),
    ):
        with pytest.raises(UnknownTopic) as raised:
            change()
        assert raised.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (store.topics.all(), store.logs.log_starts(), store.logs.all_epochs()) == ([], {}, {})
    store.close()


def test_configs_are_changed_key_by_key() -> None:
    store = MetadataStore(None)
    store.configs.change("broker", "1", {"a": "1", "b": "2"})
    store.configs.change("broker", "1", {"a": None, "b": "3", "c": "4"})
    store.configs.change("group", "1", {"a": "x"})
    assert store.configs.get("broker", "1") == {"b": "3", "c": "4"}
    assert store.configs.all() == {("broker", "1"): {"b": "3", "c": "4"}, ("group", "1"): {"a": "x"}}


@pytest.mark.feature("X-02")
def test_producer_id_blocks_are_never_given_twice(path: Path) -> None:
    store = MetadataStore(path)
    assert [store.producer_ids.next_block(), store.producer_ids.next_block()] == [0, 1000]
    store.close()
    store = MetadataStore(path)
    assert store.producer_ids.next_block(10) == 2000
    assert store.producer_ids.next_block() == 2010
    store.close()


def test_acls_are_durable_and_removable(path: Path) -> None:
    store = MetadataStore(path)
    rows = [(2, name, 3, "User:a", "*", 3, permission) for name in ("t", "u") for permission in (2, 3)]
    store.acls.change(added=rows)
    store.acls.change(added=rows[:1], removed=[*rows[1:3], (2, "unknown", 3, "User:a", "*", 3, 3)])
    store.close()
    store = MetadataStore(path)
    assert store.acls.all() == [rows[0], rows[3]]
    store.close()


def test_quotas_are_durable_and_removable(path: Path) -> None:
    store = MetadataStore(path)
    store.quotas.change([("a", "rate", "5.0"), ("a", "share", "nan"), ("b", "rate", "7.0")])
    store.quotas.change([("a", "rate", "6.0"), ("b", "rate", None), ("c", "rate", None)])
    store.close()
    store = MetadataStore(path)
    assert store.quotas.all() == [("a", "rate", "6.0"), ("a", "share", "nan")]
    store.close()


def test_epochs_are_sorted_and_replaceable() -> None:
    store = MetadataStore(None)
    topic = row("a")
    store.topics.create([(topic, {})])
    partition = PartitionId(topic.topic_id, 0)
    store.logs.replace_epochs(partition, [(5, 100), (2, 40)])
    assert store.logs.epochs(partition) == [(2, 40), (5, 100)]
    store.logs.replace_epochs(partition, [(5, 60)])
    assert store.logs.epochs(partition) == [(5, 60)]


def test_any_thread_may_write(path: Path) -> None:
    store = MetadataStore(path)
    blocks: list[int] = []
    threads = [
        threading.Thread(target=lambda: blocks.extend(store.producer_ids.next_block() for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(blocks) == [1000 * index for index in range(40)]
    store.close()


def test_a_newer_schema_is_refused(path: Path) -> None:
    MetadataStore(path).close()
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    with pytest.raises(MetadataError, match="newer Penstock"):
        MetadataStore(path)


@pytest.mark.parametrize("position", [0, 4096])
def test_a_damaged_file_is_refused(path: Path, position: int) -> None:
    store = MetadataStore(path)
    store.topics.create([(row(f"topic-{index}"), {"k": "v" * 50}) for index in range(200)])
    store.close()
    data = bytearray(path.read_bytes())
    data[position : position + 3000] = b"\xa5" * 3000
    path.write_bytes(data)
    with pytest.raises(MetadataError, match=r"meta\.db"):
        MetadataStore(path)


def test_users_survive_reopening_and_the_schema_before_them(path: Path) -> None:
    """A file of version 6 has no table of users; it gets one, and keeps its cluster."""
    store = MetadataStore(path)
    cluster_id = store.cluster_id
    store.close()
    take_back_to(path, 6)
    store = MetadataStore(path)
    alice, bob = (StoredCredential(name, 1, 4096, b"salt", b"stored", b"server") for name in ("alice", "bob"))
    secret = store.users.secret()
    store.users.change([], [bob, alice, alice._replace(mechanism=2)])
    store.users.change([("bob", 1), ("nobody", 1)], [alice._replace(iterations=8192)])
    store.close()
    store = MetadataStore(path)
    assert store.users.all() == [alice._replace(iterations=8192), alice._replace(mechanism=2)]
    assert (store.cluster_id, store.users.secret()) == (cluster_id, secret)
    assert "stored" not in repr(store.users.all())
    store.close()


def test_push_producers_of_the_schema_before_are_of_the_anonymous_principal(path: Path) -> None:
    MetadataStore(path).close()
    take_back_to(path, 8)
    with contextlib.closing(sqlite3.connect(path)) as old:
        old.executemany(
            "INSERT INTO push_producers VALUES (?, ?, ?, ?)", [("a", 3, 1000, 5), ("b" * 30_000, 1, 1001, 6)]
        )
        old.commit()
    store = MetadataStore(path)
    assert store.push_producers.get("User:ANONYMOUS", "a") == ("User:ANONYMOUS", "a", 3, 1000, 5)
    assert store.push_producers.get("User:alice", "a") is None
    assert store.push_producers.count() == 2
    assert store.push_producers.owners() == [(1000, "User:ANONYMOUS"), (1001, "User:ANONYMOUS")]
    assert store.push_producers.forget(6) == [1000]
    store.close()
