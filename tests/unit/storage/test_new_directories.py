"""The first batch of a partition makes directories: they must be as durable as the batch when it is acknowledged."""

from __future__ import annotations

import errno
import uuid
from pathlib import Path
from random import Random

import pytest

from penstock.storage.interface import LogState
from penstock.storage.layout import log_path
from penstock.testing.faulty_files import FaultyFiles, Kind
from penstock.testing.power_cut import CutDisk, Mode
from tests.support.engine_bench import TOPIC, EngineBench
from tests.support.fixed_threshold import FixedThreshold

EACH, ALL = 100, 0  # files up to which a round syncs one by one


def bench(root: Path, threshold: int) -> tuple[EngineBench, FaultyFiles]:
    root.mkdir()
    files = FaultyFiles(root)
    engine = EngineBench(root, files, cost=FixedThreshold(threshold))
    engine.create("t", TOPIC, partitions=3)
    return engine.start(), files


def after_power_cut(files: FaultyFiles, target: Path) -> Path:
    """The partitions of the topic on a disk that has lost everything unsynced."""
    disk = CutDisk()
    for change in files.changes:
        disk.advance(change)
    target.mkdir()
    disk.write_image(target, Mode.NOTHING, Random(0))
    return target / "topics" / "t" / uuid.UUID(int=1).hex


@pytest.mark.feature("X-01")
@pytest.mark.parametrize("threshold", [EACH, ALL])
def test_what_is_acknowledged_has_a_path(tmp_path: Path, threshold: int) -> None:
    engine, files = bench(tmp_path / "data", threshold)
    for index in range(3):
        engine.append("a", index)
    engine.settle()
    assert len(engine.flushed) == 3
    disk = after_power_cut(files, tmp_path / "cut")
    assert all(log_path(disk / str(index), 0).stat().st_size > 0 for index in range(3))


def test_directories_that_another_log_made_and_could_not_sync(tmp_path: Path) -> None:
    engine, files = bench(tmp_path / "data", EACH)
    engine.append("a", 0)
    files.fail(Kind.SYNC_DIRECTORY, errno.EIO, path="topics")
    engine.settle()
    assert engine.flushed[0].state is LogState.OFFLINE
    engine.append("b", 1)
    engine.settle()
    assert engine.flushed[1].flushed == 1
    disk = after_power_cut(files, tmp_path / "cut")
    assert log_path(disk / "1", 0).stat().st_size > 0


def test_the_loop_never_waits_for_them(tmp_path: Path) -> None:
    engine, files = bench(tmp_path / "data", EACH)
    before = len(files.changes)
    engine.append("a", 0)
    kinds = [change.kind for change in files.changes[before:]]
    assert Kind.MAKE_DIRECTORY in kinds
    assert not {Kind.SYNC, Kind.SYNC_DIRECTORY, Kind.SYNC_ALL} & set(kinds)
