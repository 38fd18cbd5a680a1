"""The thin layer over the operating system's files."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from penstock.runtime.files import CALLS, RealFiles


@pytest.fixture
def files() -> RealFiles:
    return RealFiles()


def test_many_buffers_in_one_write(tmp_path: Path, files: RealFiles) -> None:
    file = files.open(tmp_path / "a", create=True)
    pieces = [bytes([index % 256]) * 3 for index in range(3000)]
    assert file.pwrite(pieces, 5) == 9000
    assert file.pread(10_000, 5) == b"".join(pieces)
    assert file.size() == 9005
    file.close()
    file.close()


def test_calls_of_files_are_counted_and_those_of_sockets_are_not(tmp_path: Path, files: RealFiles) -> None:
    before = (CALLS.read, CALLS.write, CALLS.sync)
    file = files.open(tmp_path / "a", create=True)
    file.pwrite([b"ab", b"c"], 0)
    file.pwrite([b"d"], 3)
    file.datasync()
    assert file.pread(4, 0) == b"abcd"
    file.pread_into(bytearray(2), 1)
    file.close()
    left, right = socket.socketpair()
    with left, right:
        left.send(b"x")
        right.recv(1)
    assert (CALLS.read - before[0], CALLS.write - before[1], CALLS.sync - before[2]) == (2, 2, 1)


def test_reading_without_waiting(tmp_path: Path, files: RealFiles) -> None:
    (tmp_path / "a").write_bytes(b"content")
    file = files.open(tmp_path / "a", write=False)
    buffer = bytearray(4)
    try:
        assert file.pread_into(buffer, 3, wait=False) == 4
    except BlockingIOError:
        assert file.pread_into(buffer, 3) == 4  # a file system that cannot tell
    assert buffer == b"tent"
    file.close()


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no tmpfs")
def test_a_file_system_that_cannot_tell_whether_it_would_wait(files: RealFiles) -> None:
    path = Path(f"/dev/shm/penstock-test-{os.getpid()}")
    path.write_bytes(b"content")
    try:
        file = files.open(path, write=False)
        for _ in range(2):
            try:
                assert file.pread_into(bytearray(7), 0, wait=False) == 7
            except BlockingIOError:
                pass
        assert file.pread_into(bytearray(7), 0) == 7
        file.close()
    finally:
        path.unlink()


def test_replacing_a_file_durably(tmp_path: Path, files: RealFiles) -> None:
    path = tmp_path / "a"
    files.write_durably(path, b"one")
    files.write_durably(path, b"two")
    assert path.read_bytes() == b"two"
    assert files.list_names(tmp_path) == ["a"]
    assert files.file_size(path) == 3


def test_a_replacement_that_fails_leaves_the_old_one(tmp_path: Path, files: RealFiles) -> None:
    path = tmp_path / "a"
    path.mkdir()
    (path / "inside").write_bytes(b"")
    with pytest.raises(OSError):
        files.write_durably(path, b"two")
    assert files.list_names(tmp_path) == ["a"]


def test_directories_and_space(tmp_path: Path, files: RealFiles) -> None:
    files.make_directories(tmp_path / "a" / "b" / "c")
    files.make_directories(tmp_path / "a" / "b" / "c")
    handle = files.open_directory(tmp_path / "a")
    handle.datasync()
    files.sync_all(handle)
    handle.close()
    files.allocate(tmp_path / "reserve", 1 << 20)
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= 1 << 20
    assert files.free_bytes(tmp_path) > 0
    files.remove_tree(tmp_path / "a")
    assert not files.exists(tmp_path / "a")


def test_what_is_in_the_page_cache_is_mapped_and_nothing_else(tmp_path: Path, files: RealFiles) -> None:
    content = os.urandom(300_000)
    file = files.open(tmp_path / "a", create=True)
    file.pwrite([content], 0)
    view = file.mapped(200_000, 12_345)
    if view is None:
        pytest.skip("this kernel does not tell what is cached")
    assert view == content[12_345:212_345]
    assert file.mapped(300_000, 1) is None  # it ends before
    file.datasync()
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    del view
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert file.mapped(200_000, 12_345) is None
    assert file.pread(10, 0) == content[:10]
    file.close()
