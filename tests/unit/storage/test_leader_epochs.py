"""Leader epochs in meta.db: stored for each partition, raised by every start, taken over from older schemas."""

from __future__ import annotations

import sqlite3
import uuid
from pathlib import Path

import pytest

from penstock.model.ids import NO_EPOCH, PartitionId
from penstock.storage.metadata.schema import SCHEMA_VERSION
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.metadata.topics import TopicRow
from tests.support.old_metadata import take_back_to

ORDERS, PRICES, COPY = uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=3)


def epochs(store: MetadataStore) -> dict[uuid.UUID, list[int]]:
    return {uuid.UUID(bytes=topic_id): found for topic_id, found in store.leader_epochs.all().items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "meta.db"


def test_they_begin_at_zero_and_rise_with_every_start(path: Path) -> None:
    store = MetadataStore(path)
    store.topics.create([(TopicRow("orders", ORDERS, 3, False, 1), {})])
    assert epochs(store) == {ORDERS: [0, 0, 0]}
    store.close()
    store = MetadataStore(path)
    store.topics.create([(TopicRow("prices", PRICES, 1, False, 1), {})])
    assert epochs(store) == {ORDERS: [1, 1, 1], PRICES: [0]}
    store.close()
    store = MetadataStore(path)
    assert epochs(store) == {ORDERS: [2, 2, 2], PRICES: [1]}
    store.close()


def test_a_look_from_outside_is_no_start(path: Path) -> None:
    store = MetadataStore(path)
    store.topics.create([(TopicRow("orders", ORDERS, 1, False, 1), {})])
    for _ in range(2):
        looked_at = MetadataStore(path, read_only=True)
        assert epochs(looked_at) == {ORDERS: [0]}
        looked_at.close()
    store.close()


def test_new_partitions_get_the_epoch_they_are_given(path: Path) -> None:
    store = MetadataStore(path)
    store.topics.create([(TopicRow("orders", ORDERS, 2, False, 1), {})])
    store.close()
    store = MetadataStore(path)
    store.topics.set_partitions(ORDERS, 4, 1)
    assert epochs(store) == {ORDERS: [1, 1, 1, 1]}
    assert [row.partitions for row in store.topics.all()] == [4]
    store.close()


def test_mirrors_have_none(path: Path) -> None:
    store = MetadataStore(path)
    store.topics.create([(TopicRow("copy", COPY, 2, False, 1, mirror=True), {})])
    store.topics.set_partitions(COPY, 3, NO_EPOCH)
    assert epochs(store) == {}
    store.close()


def test_one_partition_may_be_led_anew(path: Path) -> None:
    store = MetadataStore(path)
    store.topics.create([(TopicRow("orders", ORDERS, 3, False, 1), {})])
    store.leader_epochs.set(PartitionId(ORDERS, 1), 7)
    store.leader_epochs.set(PartitionId(ORDERS, 1), 6)
    assert epochs(store) == {ORDERS: [0, 7, 0]}, "never lowered"
    store.close()
    store = MetadataStore(path)
    assert epochs(store) == {ORDERS: [1, 8, 1]}
    store.topics.delete(ORDERS)
    assert epochs(store) == {}
    store.close()


def to_version_5(path: Path, boot: int, first_boots: dict[uuid.UUID, int]) -> None:
    """The file as a program of schema 5 left it: epoch = boot - first_boot."""
    take_back_to(path, 5)
    database = sqlite3.connect(path)
    database.executemany(
        "UPDATE topics SET first_boot = ? WHERE topic_id = ?",
        [(first_boot, topic_id.bytes) for topic_id, first_boot in first_boots.items()],
    )
    database.execute("UPDATE identity SET value = ? WHERE name = 'boot'", (str(boot),))
    database.commit()
    database.close()


def test_they_go_on_where_a_program_that_counted_starts_was(path: Path) -> None:
    store = MetadataStore(path)
    store.topics.create(
        [
            (TopicRow("orders", ORDERS, 3, False, 1), {}),
            (TopicRow("prices", PRICES, 1, True, 1), {}),
            (TopicRow("copy", COPY, 2, False, 1, mirror=True), {}),
        ]
    )
    store.close()
    to_version_5(path, 9, {ORDERS: 2, PRICES: 9, COPY: 4})
    looked_at = MetadataStore(path, read_only=True)
    assert len(looked_at.topics.all()) == 3, "tools read the old tables as they are"
    looked_at.close()
    store = MetadataStore(path)
    assert store.boot == 10
    assert epochs(store) == {ORDERS: [8, 8, 8], PRICES: [1]}, "what boot - first_boot would be now"
    store.topics.create([(TopicRow("new", uuid.UUID(int=4), 1, False, 1), {})])
    store.close()
    store = MetadataStore(path)
    assert epochs(store) == {ORDERS: [9, 9, 9], PRICES: [2], uuid.UUID(int=4): [1]}
    assert store.database.version() == SCHEMA_VERSION
    store.close()


def test_an_old_file_without_topics_is_migrated(path: Path) -> None:
    MetadataStore(path).close()
    to_version_5(path, 0, {})
    store = MetadataStore(path)
    assert (epochs(store), store.topics.all()) == ({}, [])
    store.close()
