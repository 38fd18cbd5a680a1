"""Files that fail on command, and that remember every change so that a power cut can be played back.

`FaultyFiles` passes everything through to real files below a root, and writes down each call that changes
something as a `Change`. Two uses:

- `fail(...)` makes the n-th matching call raise EIO, ENOSPC, …, before anything is done;
- `changes` is replayed by `penstock.testing.power_cut`, which knows what a disk would hold at any of them.

Paths in changes are relative to the root. A file is known by a number, like an inode: a rename keeps it, a
new file under an old name gets another. One lock keeps the order of changes; it is taken inside every call.
"""

from __future__ import annotations

import enum
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from penstock.runtime.files import Buffer, File, RealFiles


class Kind(enum.Enum):
    """The kinds of changes; the values are the names by which `fail` matches calls."""

    CREATE = "create"
    WRITE = "pwrite"
    TRUNCATE = "truncate"
    SYNC = "datasync"
    SYNC_DIRECTORY = "sync_directory"
    SYNC_ALL = "sync_all"
    MAKE_DIRECTORY = "mkdir"
    RENAME = "rename"
    REMOVE = "remove"
    DURABLE = "durable"  # the content of a file that another layer (SQLite) made durable by itself


class Change(NamedTuple):
    kind: Kind
    path: str
    inode: int = -1
    position: int = 0  # or the new size of a truncation
    data: bytes = b""
    target: str = ""  # the new name of a rename


@dataclass(slots=True)
class Fault:
    """The calls of a kind, in files whose path contains `path`, that fail: `after` are let through first."""

    kind: Kind
    error: int
    path: str = ""
    after: int = 0
    times: int = 1


class FaultyFiles:
    """Real files below `root`, watched. Only paths below the root may be touched."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changes: list[Change] = []
        self._real = RealFiles()
        self._lock = threading.RLock()
        self._inodes: dict[str, int] = {}
        self._next_inode = 0
        self._faults: list[Fault] = []

    def fail(self, kind: Kind, error: int, *, path: str = "", after: int = 0, times: int = 1) -> None:
        self._faults.append(Fault(kind, error, path, after, times))

    def heal(self) -> None:
        self._faults.clear()

    def record_durable(self, path: Path, data: bytes) -> None:
        """Another layer made this the durable content of a file."""
        with self._lock:
            self.changes.append(Change(Kind.DURABLE, self._name(path), data=data))

    # ---------------------------------------------------------------------------------- the interface

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> File:
        name = self._name(path)
        with self._lock:
            if create and not path.exists():
                self._check(Kind.CREATE, name)
                file = self._real.open(path, create=True, write=write)
                self._inodes[name] = self._next_inode
                self._next_inode += 1
                self.changes.append(Change(Kind.CREATE, name, self._inodes[name]))
            else:
                file = self._real.open(path, create=create, write=write)
            return FaultyFile(self, file, self._inodes.get(name, -1), name)

    def read_bytes(self, path: Path) -> bytes:
        return self._real.read_bytes(path)

    def write_durably(self, path: Path, data: Buffer) -> None:
        temporary = path.with_name(path.name + ".tmp")
        file = self.open(temporary, create=True)
        try:
            file.truncate(0)
            file.pwrite([data], 0)
            file.datasync()
        finally:
            file.close()
        self.rename(temporary, path)
        self.sync_directory(path.parent)

    def exists(self, path: Path) -> bool:
        return self._real.exists(path)

    def file_size(self, path: Path) -> int:
        return self._real.file_size(path)

    def modified_ms(self, path: Path) -> int:
        return self._real.modified_ms(path)

    def list_names(self, directory: Path) -> list[str]:
        return self._real.list_names(directory)

    def make_directories(self, directory: Path, *, sync: bool = True) -> None:
        missing = []
        current = directory
        while not current.exists():
            missing.append(current)
            current = current.parent
        for path in reversed(missing):
            name = self._name(path)
            self.perform(Change(Kind.MAKE_DIRECTORY, name), lambda path=path: os.mkdir(path))  # type: ignore[misc]
            if sync:
                self.sync_directory(path.parent)

    def rename(self, old: Path, new: Path) -> None:
        old_name, new_name = self._name(old), self._name(new)
        with self._lock:
            inode = self._inodes.get(old_name, -1)
            self.perform(Change(Kind.RENAME, old_name, inode, target=new_name), lambda: self._real.rename(old, new))
            for name in [name for name in self._inodes if name == old_name or name.startswith(old_name + "/")]:
                self._inodes[new_name + name[len(old_name) :]] = self._inodes.pop(name)

    def remove(self, path: Path) -> None:
        name = self._name(path)
        with self._lock:
            self.perform(Change(Kind.REMOVE, name), lambda: self._real.remove(path))
            self._inodes.pop(name, None)

    def remove_tree(self, directory: Path) -> None:
        """One change per file and directory, so that the power can go between two of them."""
        for name in sorted(os.listdir(directory)):
            path = directory / name
            if path.is_dir():
                self.remove_tree(path)
            else:
                self.remove(path)
        self.perform(Change(Kind.REMOVE, self._name(directory)), lambda: os.rmdir(directory))

    def sync_directory(self, directory: Path) -> None:
        name = self._name(directory)
        self.perform(Change(Kind.SYNC_DIRECTORY, name), lambda: self._real.exists(directory))

    def open_directory(self, directory: Path) -> File:
        return FaultyDirectory(self, self._real.open_directory(directory), -1, self._name(directory))

    def sync_all(self, file: File) -> None:
        self.perform(Change(Kind.SYNC_ALL, ""), lambda: None)

    def allocate(self, path: Path, size: int) -> None:
        file = self.open(path, create=True)
        try:
            file.truncate(size)
        finally:
            file.close()

    def free_bytes(self, directory: Path) -> int:
        return self._real.free_bytes(directory)

    # ------------------------------------------------------------------------------------- internals

    def perform(self, change: Change, action: Callable[[], object]) -> None:
        """Fail if that was asked for, else do it and write it down. Nothing is really synced: replay
        decides.
        """
        with self._lock:
            self._check(change.kind, change.path)
            action()
            self.changes.append(change)

    def _check(self, kind: Kind, name: str) -> None:
        for fault in self._faults:
            if fault.kind is kind and fault.path in name and fault.times > 0:
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                raise OSError(fault.error, os.strerror(fault.error), name)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


class FaultyFile:
    """An open file whose changes are written down."""

    def __init__(self, files: FaultyFiles, file: File, inode: int, name: str) -> None:
        self._files = files
        self._file = file
        self._inode = inode
        self._name = name

    def pwrite(self, buffers: Sequence[Buffer], position: int) -> int:
        data = b"".join(buffers)
        change = Change(Kind.WRITE, self._name, self._inode, position, data)
        self._files.perform(change, lambda: self._file.pwrite([data], position))
        return len(data)

    def pread(self, size: int, position: int) -> bytes:
        return self._file.pread(size, position)

    def pread_into(self, buffer: bytearray | memoryview, position: int, *, wait: bool = True) -> int:
        return self._file.pread_into(buffer, position, wait=wait)

    def mapped(self, size: int, position: int) -> memoryview | None:
        return self._file.mapped(size, position)

    def size(self) -> int:
        return self._file.size()

    def truncate(self, size: int) -> None:
        change = Change(Kind.TRUNCATE, self._name, self._inode, size)
        self._files.perform(change, lambda: self._file.truncate(size))

    def datasync(self) -> None:
        self._files.perform(Change(Kind.SYNC, self._name, self._inode), lambda: None)

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()


class FaultyDirectory(FaultyFile):
    """An open directory: syncing it makes its entries durable."""

    def datasync(self) -> None:
        self._files.perform(Change(Kind.SYNC_DIRECTORY, self._name), lambda: None)
