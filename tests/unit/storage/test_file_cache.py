"""The cache of descriptors: shared, bounded, and never closing a pinned file."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from penstock.runtime.files import File, RealFiles
from penstock.storage.flush.file_cache import LruFileCache


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    found = [tmp_path / f"{index}.log" for index in range(6)]
    for path in found:
        path.write_bytes(path.name.encode())
    return found


def is_open(file: File) -> bool:
    return file.fileno() >= 0


def test_everybody_gets_the_same_file(paths: list[Path]) -> None:
    cache = LruFileCache(RealFiles(), 2)
    assert cache.acquire(paths[0]) is cache.acquire(paths[0])
    assert cache.open_count == 1


def test_the_least_recently_used_is_closed(paths: list[Path]) -> None:
    cache = LruFileCache(RealFiles(), 2)
    files = [cache.acquire(path) for path in paths[:2]]
    cache.release(files[1])
    cache.release(files[0])
    cache.release(cache.acquire(paths[2]))
    assert [is_open(file) for file in files] == [True, False]
    assert cache.open_count == 2


def test_pinned_files_pass_the_limit_and_shrink_later(paths: list[Path]) -> None:
    cache = LruFileCache(RealFiles(), 2)
    files = [cache.acquire(path) for path in paths]
    assert all(is_open(file) for file in files)
    for file in files:
        cache.release(file)
    assert cache.open_count == 2
    assert [is_open(file) for file in files] == [False] * 4 + [True] * 2


def test_a_writer_replaces_a_reader_without_disturbing_it(paths: list[Path]) -> None:
    cache = LruFileCache(RealFiles(), 9)
    reader = cache.acquire(paths[0])
    writer = cache.acquire(paths[0], write=True)
    assert writer is not reader
    assert cache.acquire(paths[0]) is writer
    writer.pwrite([b"new!"], 0)
    assert reader.pread(4, 0) == b"new!"
    cache.release(reader)
    assert not is_open(reader)
    assert is_open(writer)


def test_a_forgotten_path_is_opened_anew(paths: list[Path]) -> None:
    cache = LruFileCache(RealFiles(), 9)
    old = cache.acquire(paths[0])
    paths[1].rename(paths[0])
    cache.forget(paths[0])
    assert old.pread(9, 0) == b"0.log"
    new = cache.acquire(paths[0])
    assert new.pread(9, 0) == b"1.log"
    cache.release(old)
    assert not is_open(old)
    cache.release(new)
    assert is_open(new)


def test_forgetting_a_tree(paths: list[Path]) -> None:
    cache = LruFileCache(RealFiles(), 9)
    files = [cache.acquire(path) for path in paths]
    cache.release(files[0])
    cache.forget_below(paths[0].parent)
    assert not is_open(files[0])
    assert is_open(files[1])
    cache.close()
    assert not any(is_open(file) for file in files)


def test_missing_files_and_creation(tmp_path: Path) -> None:
    cache = LruFileCache(RealFiles(), 9)
    with pytest.raises(FileNotFoundError):
        cache.acquire(tmp_path / "x")
    file = cache.acquire(tmp_path / "x", write=True, create=True)
    assert file.size() == 0


def test_many_threads(paths: list[Path]) -> None:
    cache = LruFileCache(RealFiles(), 2)
    wrong: list[bytes] = []

    def work() -> None:
        for turn in range(300):
            path = paths[turn % len(paths)]
            file = cache.acquire(path)
            content = file.pread(9, 0)
            if content != path.name.encode():
                wrong.append(content)
            cache.release(file)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert cache.open_count <= 2
