"""Only directories with a recorded deletion are deleted."""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config.settings import StorageSettings
from penstock.model.ids import PartitionId
from penstock.storage.engine.disk_engine import DiskEngine
from penstock.storage.metadata.schema import MetadataError
from penstock.storage.metadata.store import MetadataStore
from tests.support.engine_bench import TOPIC, EngineBench
from tests.support.old_metadata import take_back_to

PARTITION = PartitionId(TOPIC, 0)


def written(root: Path) -> EngineBench:
    bench = EngineBench(root)
    bench.create("prices", TOPIC)
    bench.start()
    bench.append("precious")
    bench.settle()
    return bench


def reopened(root: Path, *, declare: bool = False) -> EngineBench:
    bench = EngineBench(root)
    if declare:
        bench.declare("prices", TOPIC)
    bench.start()
    for _ in range(3):
        bench.engine.tick()
        bench.settle()
    return bench


def topic_directory(root: Path) -> Path:
    return root / "topics" / "prices" / TOPIC.hex


def remove_metadata(root: Path) -> None:
    for path in root.glob("meta.db*"):
        path.unlink()


def empty_metadata(root: Path) -> None:
    remove_metadata(root)
    (root / "meta.db").touch()


def new_database(root: Path) -> None:
    remove_metadata(root)
    database = sqlite3.connect(root / "meta.db")
    database.execute("CREATE TABLE other (name TEXT)")
    database.close()


@pytest.mark.parametrize("lose", [remove_metadata, empty_metadata, new_database])
def test_records_without_their_metadata_are_not_served_and_not_deleted(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    written(tmp_path).engine.close()
    lose(tmp_path)
    before = sorted(tmp_path.rglob("*.log"))
    for _ in range(2):
        with pytest.raises(MetadataError, match=r"meta\.db is missing or empty.*restore it from a backup"):
            DiskEngine.open(tmp_path, StorageSettings())
    assert before
    assert sorted(tmp_path.rglob("*.log")) == before


def test_a_directory_without_records_may_have_new_metadata(tmp_path: Path) -> None:
    DiskEngine.open(tmp_path, StorageSettings(reserve_bytes=0)).close()
    remove_metadata(tmp_path)
    DiskEngine.open(tmp_path, StorageSettings(reserve_bytes=0)).close()


def test_older_metadata_deletes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root, backup = tmp_path / "data", tmp_path / "meta.db"
    root.mkdir()
    EngineBench(root).engine.metadata.close()
    shutil.copy(root / "meta.db", backup)
    written(root).engine.close()
    shutil.copy(root / "meta.db", tmp_path / "new.db")
    shutil.copy(backup, root / "meta.db")
    bench = reopened(root)
    assert bench.engine.orphans == [topic_directory(root)]
    assert any(str(topic_directory(root)) in record.message for record in caplog.records)
    bench.engine.close()
    shutil.copy(tmp_path / "new.db", root / "meta.db")
    again = reopened(root, declare=True)
    assert again.values() == ["precious"]
    assert again.engine.orphans == []
    again.engine.close()


def test_a_deletion_that_was_recorded_is_finished_by_the_next_start(tmp_path: Path) -> None:
    """The process dies between the record and the removal of the directory."""
    bench = written(tmp_path)
    bench.engine.metadata.topics.delete(TOPIC)
    bench.engine.metadata.close()
    again = reopened(tmp_path)
    assert again.engine.orphans == []
    assert not topic_directory(tmp_path).exists()
    assert list((tmp_path / "trash").iterdir()) == []
    assert again.engine.metadata.topics.deleted() == {}
    again.engine.close()


def test_a_record_of_deletion_stays_until_the_directory_is_gone(tmp_path: Path) -> None:
    bench = written(tmp_path)
    bench.create("other", uuid.UUID(int=2))
    bench.engine.metadata.topics.delete(TOPIC)
    bench.engine.remove(PARTITION)
    assert bench.engine.metadata.topics.deleted() == {TOPIC: "prices"}
    bench.engine.tick()
    bench.settle()
    assert bench.engine.metadata.topics.deleted() == {}
    # A topic without records has no directory; its record goes as well.
    bench.engine.metadata.topics.delete(uuid.UUID(int=2))
    bench.engine.remove(PartitionId(uuid.UUID(int=2), 0))
    bench.engine.tick()
    bench.settle()
    assert bench.engine.metadata.topics.deleted() == {}
    bench.engine.close()


def test_metadata_of_the_first_schema_is_migrated(tmp_path: Path) -> None:
    written(tmp_path).engine.close()
    take_back_to(tmp_path / "meta.db", 1)
    looked_at = MetadataStore(tmp_path / "meta.db", read_only=True)
    assert [row.mirror for row in looked_at.topics.all()] == [False]
    looked_at.close()
    bench = reopened(tmp_path, declare=True)
    assert bench.values() == ["precious"]
    bench.engine.metadata.topics.delete(TOPIC)
    assert bench.engine.metadata.topics.deleted() == {TOPIC: "prices"}
    assert bench.engine.metadata.quotas.all() == []
    assert bench.engine.metadata.acls.all() == []
    bench.engine.close()
