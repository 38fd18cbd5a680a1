"""The disk watch closes the gate below the limit, gives back the reserve, and opens the gate again."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.runtime.files import RealFiles
from tests.support.engine_bench import TOPIC, EngineBench

MIB = 1 << 20


class ScarceFiles(RealFiles):
    """Real files on a disk that has as much room as the test says, less the reserve."""

    room = 1000 * MIB

    def free_bytes(self, directory: Path) -> int:
        reserve = directory / "reserve"
        return self.room - (reserve.stat().st_size if reserve.exists() else 0)


@pytest.fixture
def files() -> ScarceFiles:
    return ScarceFiles()


class Watched(EngineBench):
    """An engine that wants 20 MiB free, some of them in its reserve."""

    def __init__(self, root: Path, files: ScarceFiles, reserve: int = 2 * MIB) -> None:
        super().__init__(root, files, min_free_bytes=20 * MIB, reserve_bytes=reserve)
        self.scarce = files
        self.start()
        self.settle()

    def accepts(self, room: int) -> bool:
        """Whether writes are taken at the next look, with so much free."""
        self.scarce.room = room
        self.clock.advance(self.engine.settings.disk_check_interval_ms)
        self.engine.tick()
        self.settle()
        return self.engine.accepts_writes()


@pytest.mark.feature("F-13")
@pytest.mark.feature("F-06")
def test_refuses_below_the_limit_and_recovers_by_itself(tmp_path: Path, files: ScarceFiles) -> None:
    bench = Watched(tmp_path, files)
    assert [bench.accepts(room * MIB) for room in (100, 19, 21, 100)] == [True, False, False, True]


def test_the_reserve_counts_as_room_and_is_given_back(tmp_path: Path, files: ScarceFiles) -> None:
    bench = Watched(tmp_path, files)
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= 2 * MIB
    assert bench.accepts(20 * MIB)
    bench.accepts(2 * MIB)
    assert not (tmp_path / "reserve").exists()
    assert bench.engine.free_space.free_bytes == 2 * MIB
    bench.accepts(1000 * MIB)
    assert (tmp_path / "reserve").exists()


def test_an_old_reserve_is_taken_over_or_replaced(tmp_path: Path, files: ScarceFiles) -> None:
    Watched(tmp_path, files)
    inode = (tmp_path / "reserve").stat().st_ino
    Watched(tmp_path, files)
    assert (tmp_path / "reserve").stat().st_ino == inode
    Watched(tmp_path, files, reserve=1 * MIB)
    assert (tmp_path / "reserve").stat().st_size == 1 * MIB
    Watched(tmp_path, files, reserve=0)
    assert not (tmp_path / "reserve").exists()


@pytest.mark.feature("F-06")
def test_reads_and_the_brokers_own_records_go_on(tmp_path: Path) -> None:
    bench = EngineBench(tmp_path)
    bench.create("prices", TOPIC)
    bench.start()
    bench.append("before")
    bench.settle()
    bench.engine.gate.accepts_writes = False
    assert not bench.engine.accepts_writes()
    with pytest.raises(KafkaError) as caught:
        bench.append("refused")
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    batch = build_batch([NewRecord(b"k", b"own")], timestamp=bench.clock.now_ms())
    log = bench.engine.log(PartitionId(TOPIC, 0))
    log.append_trusted(batch, read_header(batch), bench.clock.now_ms())
    bench.settle()
    assert bench.values() == ["before", "own"]
    log.delete_records(1)
    assert bench.values() == ["own"]
    bench.engine.remove(PartitionId(TOPIC, 0))
