"""The disk engine as a whole: partitions come and go, survive restarts, and damage is told apart from loss."""

from __future__ import annotations

import errno
import uuid
from pathlib import Path

import pytest

from penstock.config.settings import StorageSettings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.data_directory import DirectoryLocked
from penstock.storage.engine.disk_engine import DiskEngine
from penstock.storage.interface import LogState
from penstock.testing.faulty_files import FaultyFiles, Kind
from tests.support.engine_bench import TOPIC, EngineBench
from tests.support.fixed_threshold import FixedThreshold


def test_written_flushed_and_there_after_a_restart(tmp_path: Path) -> None:
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC, 3)
    bench.start()
    assert [bench.append(f"v{n}", index=n % 2).base_offset for n in range(6)] == [0, 0, 1, 1, 2, 2]
    assert bench.values() == []
    bench.settle()
    assert bench.values() == ["v0", "v2", "v4"]
    assert len(bench.flushed) == 2
    bench.engine.close()
    assert (tmp_path / "clean").exists()
    again = EngineBench(tmp_path)
    again.declare("prices", TOPIC, 3)
    again.start()
    assert not (tmp_path / "clean").exists()
    assert [again.values(index) for index in range(3)] == [["v0", "v2", "v4"], ["v1", "v3", "v5"], []]
    again.engine.close()


@pytest.mark.feature("P-05")
def test_after_a_crash_the_tail_is_found(tmp_path: Path) -> None:
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC)
    bench.start()
    for n in range(20):
        bench.append("x" * 40_000 + str(n))  # more than is recovered inline
    bench.settle()
    again = EngineBench(tmp_path)
    again.declare("prices", TOPIC)
    again.start()
    assert [value[-2:].strip("x") for value in again.values()] == [str(n) for n in range(20)]
    log = again.engine.log(PartitionId(TOPIC, 0))
    assert log.unsnapshotted_bytes == 0  # the worker left a recovery point
    again.engine.close()


def test_nothing_exists_before_the_first_record(tmp_path: Path) -> None:
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC, 100)
    bench.start()
    assert bench.values(57) == []
    bench.engine.tick()
    assert list((tmp_path / "topics").iterdir()) == []
    with pytest.raises(KeyError):
        bench.engine.log(PartitionId(TOPIC, 100))
    bench.engine.close()


def test_a_deleted_topic_goes_and_its_name_may_come_back(tmp_path: Path) -> None:
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC, 2)
    bench.start()
    bench.append("old", 0)
    bench.append("old", 1)
    bench.settle()
    for index in range(2):
        bench.engine.remove(PartitionId(TOPIC, index))
    other = uuid.UUID(int=2)
    bench.engine.metadata.topics.delete(TOPIC)
    bench.create("prices", other, 2)
    assert bench.values(0, other) == []
    bench.append("new", 0, other)
    bench.settle()
    bench.engine.tick()
    assert list((tmp_path / "trash").iterdir()) == []
    assert bench.values(0, other) == ["new"]
    bench.engine.close()


def test_a_directory_that_nobody_knows_is_never_adopted(tmp_path: Path) -> None:
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC)
    bench.start()
    bench.append("old")
    bench.settle()
    bench.engine.close()
    again = EngineBench(tmp_path)
    other = uuid.UUID(int=2)
    again.declare("prices", other)
    again.start()
    assert again.values(0, other) == []
    assert (tmp_path / "topics" / "prices" / TOPIC.hex / "0").is_dir()
    again.engine.close()


@pytest.mark.feature("X-01")
def test_a_failed_flush_takes_one_log_offline_and_a_restart_recovers(tmp_path: Path) -> None:
    files = FaultyFiles(tmp_path)
    bench = EngineBench(tmp_path, files)
    bench.create("prices", TOPIC, 2)
    bench.start()
    bench.append("good", 0)
    bench.append("good", 1)
    bench.settle()
    files.fail(Kind.SYNC_ALL, errno.EIO)
    files.fail(Kind.SYNC, errno.EIO, path="/1/")
    bench.append("fine", 0)
    bench.append("lost?", 1)
    bench.settle()
    broken = bench.engine.log(PartitionId(TOPIC, 1))
    assert broken.state is LogState.OFFLINE
    assert bench.flushed[-1] is broken
    with pytest.raises(KafkaError) as caught:
        bench.append("more", 1)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.values(0) == ["good", "fine"]
    bench.engine.close()
    assert not (tmp_path / "clean").exists()
    again = EngineBench(tmp_path)
    again.declare("prices", TOPIC, 2)
    again.start()
    assert again.values(1)[0] == "good"
    again.append("back", 1)
    again.settle()
    assert again.values(1)[-1] == "back"
    again.engine.close()


def test_recovery_points_by_bytes_and_by_time(tmp_path: Path) -> None:
    bench = EngineBench(tmp_path, checkpoint_bytes=65536, checkpoint_interval_ms=60_000)
    bench.create("prices", TOPIC, 2)
    bench.start()
    bench.append("x" * 70_000, 0)
    bench.append("small", 1)
    bench.settle()
    bench.engine.tick()
    bench.settle()
    logs = [bench.engine.log(PartitionId(TOPIC, index)) for index in range(2)]
    assert [log.snapshot_end for log in logs] == [1, -1]
    bench.clock.advance(60_000)
    bench.engine.tick()
    bench.settle()
    assert [log.snapshot_end for log in logs] == [1, 1]
    bench.engine.close()


def test_no_room_for_a_recovery_point_is_no_reason_to_go_offline(tmp_path: Path) -> None:
    files = FaultyFiles(tmp_path)
    bench = EngineBench(tmp_path, files, checkpoint_bytes=65536)
    bench.create("prices", TOPIC)
    bench.start()
    bench.append("x" * 70_000)
    bench.settle()
    files.fail(Kind.WRITE, errno.ENOSPC, path=".snapshot")
    bench.engine.tick()
    bench.settle()
    log = bench.engine.log(PartitionId(TOPIC, 0))
    assert (log.state, log.snapshot_end) == (LogState.ONLINE, -1)
    bench.engine.tick()
    bench.settle()
    assert log.snapshot_end == 1
    bench.engine.close()


def test_no_descriptor_is_a_refusal_and_no_reason_to_go_offline(tmp_path: Path) -> None:
    files = FaultyFiles(tmp_path)
    bench = EngineBench(tmp_path, files, cost=FixedThreshold(99), checkpoint_bytes=65536)
    bench.create("prices", TOPIC)
    bench.start()
    files.fail(Kind.CREATE, errno.EMFILE, path=".log")
    with pytest.raises(KafkaError) as refused:
        bench.append("x" * 70_000)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    files.fail(Kind.SYNC_DIRECTORY, errno.EMFILE)  # by the flush round
    bench.append("x" * 70_000)
    bench.settle()
    log = bench.engine.log(PartitionId(TOPIC, 0))
    assert (log.state, log.flushed) == (LogState.ONLINE, 1)
    files.fail(Kind.SYNC_DIRECTORY, errno.EMFILE)  # by the recovery point
    bench.engine.tick()
    bench.settle()
    assert (log.state, log.snapshot_end) == (LogState.ONLINE, -1)
    bench.engine.tick()
    bench.settle()
    assert log.snapshot_end == 1
    bench.engine.close()


@pytest.mark.parametrize("where", [(Kind.SYNC_DIRECTORY, errno.EMFILE, ""), (Kind.WRITE, errno.ENOSPC, ".snapshot")])
def test_retention_that_cannot_write_its_recovery_point_is_tried_again(
    tmp_path: Path, where: tuple[Kind, int, str]
) -> None:
    files = FaultyFiles(tmp_path)
    bench = EngineBench(tmp_path, files)
    bench.create("prices", TOPIC)
    bench.declare("prices", TOPIC, segment_bytes=100_000, retention_ms=1000)
    bench.start()
    for _ in range(3):
        bench.append("x" * 90_000)
        bench.clock.advance(600)
        bench.settle()
    log = bench.engine.log(PartitionId(TOPIC, 0))
    kind, number, path = where
    files.fail(kind, number, path=path)
    bench.engine.run_retention(bench.clock.now_ms())
    bench.settle()
    assert (log.state, log.log_start) == (LogState.ONLINE, 0)
    bench.engine.run_retention(bench.clock.now_ms())
    bench.settle()
    assert (log.state, log.log_start) == (LogState.ONLINE, 2)
    bench.engine.close()


def test_retention_removes_old_segments(tmp_path: Path) -> None:
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC)
    bench.declare("prices", TOPIC, segment_bytes=100_000, retention_ms=1000)
    bench.start()
    for _ in range(3):
        bench.append("x" * 90_000)
        bench.clock.advance(600)
    bench.settle()
    assert bench.engine.run_retention(bench.clock.now_ms()) == 2
    bench.settle()
    assert len(bench.values()) == 1
    assert len(list(tmp_path.rglob("*.log"))) == 1
    bench.engine.close()
    again = EngineBench(tmp_path)
    again.declare("prices", TOPIC)
    again.start()
    assert again.engine.log(PartitionId(TOPIC, 0)).log_start == 2
    again.engine.close()


def test_retention_of_a_topic_that_is_being_deleted_removes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its row is gone, so that no log start can be stored: what is there goes with the directory."""
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC, segment_bytes=200, retention_ms=1000)
    bench.start()
    for index in range(5):
        bench.append(f"{index}" * 100)
        bench.settle()
    bench.clock.advance(10_000)
    bench.engine.metadata.topics.delete(TOPIC)
    bench.engine.run_retention(bench.clock.now_ms())
    bench.settle()
    log = bench.engine.log(PartitionId(TOPIC, 0))
    assert (log.log_start, len(bench.values())) == (0, 5)
    assert len(list(log.directory.glob("*.log"))) == log.segment_count
    assert not caplog.records
    bench.engine.remove(PartitionId(TOPIC, 0))
    bench.engine.close()


def test_a_topic_that_is_deleted_during_a_flush_is_no_failure(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC)
    bench.start()
    bench.append("a")
    assert bench.engine.commit.run_round()
    bench.engine.remove(PartitionId(TOPIC, 0))
    bench.engine.commit.finish_rounds()
    assert not caplog.records
    bench.engine.close()


def test_the_real_engine_opens_locks_and_closes(tmp_path: Path) -> None:
    engine = DiskEngine.open(tmp_path / "data", StorageSettings())
    with pytest.raises(DirectoryLocked):
        DiskEngine.open(tmp_path / "data", StorageSettings())
    engine.start(lambda log: None, lambda *_: None)
    engine.close()
    DiskEngine.open(tmp_path / "data", StorageSettings()).close()
