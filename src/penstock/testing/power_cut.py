"""The possible states of a disk after a power cut: a pessimistic file system, replayed from recorded changes.

`CutDisk.advance` takes the changes of `FaultyFiles` one after the other; `CutDisk.write_image` lays down, as
real files, one of the states the disk could be in if the power failed just then. The rules, all of which
POSIX allows and journaling file systems keep:

- Everything covered by a sync that returned is there. A sync during which the power fails has done nothing
certain. - Of unsynced writes to a file any 512-byte sectors may be there, in any order; the file may have
grown over
  sectors that were never written, which then read as zeros. Unsynced truncations may be undone.
- Unsynced entries of a directory (new files, renames, removals) persist up to some point and no further, per
  directory. The sync of a file does not save its name: only syncing its directory does.
- syncfs covers everything.

`Mode.NOTHING` forgets everything unsynced, `Mode.EVERYTHING` keeps it (as kill -9 would), `Mode.RANDOM`
chooses.
"""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from random import Random

from penstock.testing.faulty_files import Change, Kind

SECTOR_BYTES = 512


class Mode(enum.Enum):
    NOTHING = "nothing"
    EVERYTHING = "everything"
    RANDOM = "random"


@dataclass(slots=True)
class _Inode:
    """Content that is surely on disk, and the changes since."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Change] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Entry:
    """One atomic change to the names in a directory: each name now means an inode, or nothing (None).

    `after` is the other half of a rename between directories: the old name goes only if the new one is there, and
    syncing the directory that lost it makes both halves durable, as any journal does.
    """

    names: dict[str, int | None]
    directory: _Directory
    after: _Entry | None = None
    settled: bool = False


# A directory is an inode number, too, so that renaming it moves what is in it.
@dataclass(slots=True)
class _Directory:
    durable: dict[str, int] = field(default_factory=dict)
    current: dict[str, int] = field(default_factory=dict)
    pending: list[_Entry] = field(default_factory=list)


class CutDisk:
    """The state of a disk after some changes, in what is certain and what is not."""

    def __init__(self) -> None:
        self._files: dict[int, _Inode] = {}
        self._root = _Directory()
        self._directories: dict[int, _Directory] = {-1: self._root}
        self._durable_files: dict[str, bytes] = {}
        self._next_directory = -2

    def advance(self, change: Change) -> None:
        """The call returned."""
        if change.kind in (Kind.WRITE, Kind.TRUNCATE):
            self._files[change.inode].pending.append(change)
        elif change.kind is Kind.SYNC:
            _settle(self._files[change.inode])
        elif change.kind is Kind.SYNC_DIRECTORY:
            _settle_names(self._directory(change.path))
        elif change.kind is Kind.SYNC_ALL:
            for inode in self._files.values():
                _settle(inode)
            for directory in self._directories.values():
                _settle_names(directory)
        elif change.kind is Kind.DURABLE:
            self._durable_files[change.path] = change.data
        else:
            self._change_names(change)

    def write_image(self, target: Path, mode: Mode, random: Random) -> None:
        """Lay down one possible state below `target`, which is an empty directory."""
        kept: set[_Entry] = set()
        for directory in self._directories.values():
            pending = directory.pending
            kept.update(pending[: _kept_count(len(pending), mode, random)])
        self._write_directory(self._root, target, kept, _Content(mode, random), set())
        for name, data in self._durable_files.items():
            (target / name).write_bytes(data)

    def _change_names(self, change: Change) -> None:
        parent, name = self._parent(change.path)
        if change.kind is Kind.CREATE:
            self._files[change.inode] = _Inode()
            _enter(parent, {name: change.inode})
        elif change.kind is Kind.MAKE_DIRECTORY:
            self._directories[self._next_directory] = _Directory()
            _enter(parent, {name: self._next_directory})
            self._next_directory -= 1
        elif change.kind is Kind.REMOVE:
            _enter(parent, {name: None})
        else:
            inode = parent.current[name]
            new_parent, new_name = self._parent(change.target)
            if new_parent is parent:
                _enter(parent, {new_name: inode, name: None})
            else:
                _enter(parent, {name: None}, after=_enter(new_parent, {new_name: inode}))

    def _parent(self, path: str) -> tuple[_Directory, str]:
        pure = PurePosixPath(path)
        return self._directory(pure.parent.as_posix()), pure.name

    def _directory(self, path: str) -> _Directory:
        directory = self._root
        for part in PurePosixPath(path).parts:
            directory = self._directories[directory.current[part]]
        return directory

    def _write_directory(
        self, directory: _Directory, target: Path, kept: set[_Entry], content: _Content, seen: set[int]
    ) -> None:
        for name, number in _names(directory, kept).items():
            if number not in self._directories:
                (target / name).write_bytes(content.of(self._files[number]))
            elif number not in seen:  # a directory that is between two names is written under one of them
                seen.add(number)
                os.mkdir(target / name)
                self._write_directory(self._directories[number], target / name, kept, content, seen)


def _names(directory: _Directory, kept: set[_Entry]) -> dict[str, int]:
    names = dict(directory.durable)
    for entry in directory.pending:
        if entry not in kept or (entry.after and not entry.after.settled and entry.after not in kept):
            continue
        for name, number in entry.names.items():
            if number is None:
                names.pop(name, None)
            else:
                names[name] = number
    return names


def _enter(directory: _Directory, names: dict[str, int | None], after: _Entry | None = None) -> _Entry:
    for name, number in names.items():
        if number is None:
            directory.current.pop(name, None)
        else:
            directory.current[name] = number
    entry = _Entry(names, directory, after)
    directory.pending.append(entry)
    return entry


def _settle_names(directory: _Directory) -> None:
    directory.durable = dict(directory.current)
    pending, directory.pending = directory.pending, []
    for entry in pending:
        entry.settled = True
    for entry in pending:
        if entry.after is not None and not entry.after.settled:
            _settle_names(entry.after.directory)


def _settle(inode: _Inode) -> None:
    for change in inode.pending:
        _apply(inode.durable, change)
    inode.pending.clear()


def _apply(content: bytearray, change: Change) -> None:
    if change.kind is Kind.TRUNCATE:
        _resize(content, change.position)
    else:
        if len(content) < change.position:
            _resize(content, change.position)
        content[change.position : change.position + len(change.data)] = change.data


def _resize(content: bytearray, size: int) -> None:
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


def _kept_count(count: int, mode: Mode, random: Random) -> int:
    if mode is Mode.NOTHING:
        return 0
    return count if mode is Mode.EVERYTHING else random.randint(0, count)


class _Content:
    """The remains of a file; chooses among its unsynced changes."""

    def __init__(self, mode: Mode, random: Random) -> None:
        self._mode = mode
        self._random = random

    def of(self, inode: _Inode) -> bytes:
        content = bytearray(inode.durable)
        for change in inode.pending:
            if self._mode is Mode.EVERYTHING:
                _apply(content, change)
            elif self._mode is Mode.RANDOM and change.kind is Kind.WRITE:
                _apply_some_sectors(content, change, self._random)
            elif self._mode is Mode.RANDOM and self._random.random() < 0.5:
                _apply(content, change)
        return bytes(content)


def _apply_some_sectors(content: bytearray, change: Change, random: Random) -> None:
    """Each sector of the write is kept or not; whether the file's new size was kept is decided apart."""
    position, end = change.position, change.position + len(change.data)
    if len(content) < end and random.random() < 0.5:
        _resize(content, end)
    keep = random.choice((0.1, 0.5, 0.9))
    while position < end:
        stop = min(end, (position // SECTOR_BYTES + 1) * SECTOR_BYTES)
        if random.random() < keep:
            piece = change.data[position - change.position : stop - change.position]
            _apply(content, change._replace(position=position, data=piece))
        position = stop
