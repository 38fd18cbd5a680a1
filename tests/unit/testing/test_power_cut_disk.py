"""The pessimist's file system: what is synced stays, what is not may go, and nothing else happens."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random

import pytest

from penstock.testing.faulty_files import FaultyFiles, Kind
from penstock.testing.power_cut import CutDisk, Mode


@pytest.fixture
def files(tmp_path: Path) -> FaultyFiles:
    root = tmp_path / "run"
    root.mkdir()
    return FaultyFiles(root)


def image(files: FaultyFiles, target: Path, mode: Mode, seed: int = 0) -> dict[str, bytes]:
    disk = CutDisk()
    for change in files.changes:
        disk.advance(change)
    target.mkdir()
    disk.write_image(target, mode, Random(seed))
    return {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()}


def test_a_file_needs_its_own_sync_and_that_of_its_directory(files: FaultyFiles, tmp_path: Path) -> None:
    root = files.root
    for name in ("neither", "data", "name", "both"):
        file = files.open(root / name, create=True)
        file.pwrite([name.encode()], 0)
        if name in ("data", "both"):
            file.datasync()
        file.close()
        if name in ("name", "both"):
            files.sync_directory(root)
    files.open(root / "last", create=True).close()
    assert image(files, tmp_path / "a", Mode.NOTHING) == {"neither": b"", "data": b"data", "name": b"", "both": b"both"}
    everything = image(files, tmp_path / "b", Mode.EVERYTHING)
    assert everything == {name: name.encode() for name in ("neither", "data", "name", "both")} | {"last": b""}


def test_renames_and_removals_are_undone_without_a_sync(files: FaultyFiles, tmp_path: Path) -> None:
    root = files.root
    files.write_durably(root / "a", b"old")
    files.write_durably(root / "b", b"kept")
    files.rename(root / "a", root / "c")
    files.remove(root / "b")
    assert image(files, tmp_path / "one", Mode.NOTHING) == {"a": b"old", "b": b"kept"}
    files.sync_directory(root)
    assert image(files, tmp_path / "two", Mode.NOTHING) == {"c": b"old"}


def test_a_directory_between_two_places_is_never_lost(files: FaultyFiles, tmp_path: Path) -> None:
    root = files.root
    files.make_directories(root / "from" / "d")
    files.make_directories(root / "to")
    files.write_durably(root / "from" / "d" / "f", b"x")
    files.rename(root / "from" / "d", root / "to" / "d")
    files.sync_directory(root / "from")
    seen = set()
    for seed in range(20):
        found = image(files, tmp_path / str(seed), Mode.RANDOM, seed)
        assert list(found.values()) == [b"x"]
        seen |= set(found)
    assert seen == {"from/d/f", "to/d/f"} or seen == {"to/d/f"}


def test_sectors_of_unsynced_writes_come_and_go(files: FaultyFiles, tmp_path: Path) -> None:
    file = files.open(files.root / "f", create=True)
    file.pwrite([b"a" * 1000], 0)
    file.datasync()
    files.sync_directory(files.root)
    file.pwrite([b"b" * 3000], 1000)
    file.close()
    contents = {image(files, tmp_path / str(seed), Mode.RANDOM, seed)["f"] for seed in range(30)}
    assert len(contents) > 10
    for content in contents:
        assert content[:1000] == b"a" * 1000
        assert set(content[1000:]) <= {0, ord("b")}


def test_syncing_everything_syncs_everything(files: FaultyFiles, tmp_path: Path) -> None:
    file = files.open(files.root / "f", create=True)
    file.pwrite([b"x"], 0)
    files.sync_all(file)
    file.close()
    assert image(files, tmp_path / "a", Mode.NOTHING) == {"f": b"x"}


def test_faults_come_when_they_are_due(files: FaultyFiles) -> None:
    file = files.open(files.root / "f", create=True)
    files.fail(Kind.WRITE, errno.ENOSPC, after=1, times=2)
    file.pwrite([b"x"], 0)
    for _ in range(2):
        with pytest.raises(OSError) as caught:
            file.pwrite([b"y"], 0)
        assert caught.value.errno == errno.ENOSPC
    file.pwrite([b"z"], 0)
    assert file.pread(1, 0) == b"z"
    files.fail(Kind.SYNC, errno.EIO)
    files.heal()
    file.datasync()
    file.close()
