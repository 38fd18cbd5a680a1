"""A data directory that cannot be used says which of the four reasons it is, and what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from penstock.model.ids import PartitionId
from penstock.runtime.files import RealFiles
from penstock.storage.data_directory import (
    DataDirectory,
    DirectoryFromNewerVersion,
    DirectoryLocked,
    DirectoryNotOurs,
    DirectoryNotWritable,
)
from penstock.storage.lock import DirectoryLock


def directory(root: Path) -> DataDirectory:
    return DataDirectory(RealFiles(), root)


def test_a_new_directory_becomes_ours(tmp_path: Path) -> None:
    data = directory(tmp_path / "a" / "b")
    data.create()
    data.adopt()
    assert json.loads((data.root / "format.json").read_text())["penstock"] == 1
    again = directory(data.root)
    again.create()
    again.adopt()
    assert not again.was_stopped_cleanly()


def test_paths_carry_the_topic_id(tmp_path: Path) -> None:
    topic_id = uuid.UUID(int=5)
    path = directory(tmp_path).partition("prices", PartitionId(topic_id, 3))
    assert path == tmp_path / "topics" / "prices" / ("0" * 31 + "5") / "3"


def test_not_ours(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")
    with pytest.raises(DirectoryNotOurs, match="holds files but no"):
        directory(tmp_path).create()
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_file_is_not_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DirectoryNotOurs, match="not a directory"):
        directory(tmp_path / "file").create()


@pytest.mark.parametrize("content", ["", "[]", '{"other": 1}', '{"penstock": "x"}'])
def test_a_format_file_of_somebody_else(tmp_path: Path, content: str) -> None:
    (tmp_path / "format.json").write_text(content)
    data = directory(tmp_path)
    data.create()
    with pytest.raises(DirectoryNotOurs, match=r"format\.json"):
        data.adopt()


def test_from_a_newer_version(tmp_path: Path) -> None:
    (tmp_path / "format.json").write_text('{"penstock": 99}')
    data = directory(tmp_path)
    data.create()
    with pytest.raises(DirectoryFromNewerVersion, match="newer Penstock"):
        data.adopt()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_not_writable(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(DirectoryNotWritable, match="not writable"):
        directory(tmp_path).create()


def test_not_writable_even_for_root() -> None:
    with pytest.raises(DirectoryNotWritable, match="not writable"):
        directory(Path("/proc/penstock")).create()


def test_locked_by_another_process(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from penstock.storage.lock import DirectoryLock;"
        "DirectoryLock(pathlib.Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "penstock.lock"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DirectoryLocked, match=f"process {holder.pid}") as caught:
            DirectoryLock(path)
        assert caught.value.pid == holder.pid
        holder.kill()
    lock = DirectoryLock(path)  # the kernel released it
    lock.release()
    lock.release()


def test_the_clean_marker_goes_with_the_next_start(tmp_path: Path) -> None:
    data = directory(tmp_path)
    data.create()
    data.adopt()
    data.mark_clean()
    assert data.was_stopped_cleanly()
    data.mark_running()
    data.mark_running()
    assert not data.was_stopped_cleanly()


def test_records_are_noticed_whatever_else_lies_around(tmp_path: Path) -> None:
    data = directory(tmp_path)
    data.create()
    data.adopt()
    (data.topics / "notes.txt").touch()
    partition = data.partition("prices", PartitionId(uuid.UUID(int=1), 0))
    partition.mkdir(parents=True)
    assert not data.has_records()
    (partition / "00000000000000000000.log").touch()
    assert data.has_records()
