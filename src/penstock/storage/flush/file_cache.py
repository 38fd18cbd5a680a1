"""Open descriptors, fewer than there are segments: the least recently used file without a pin is closed.

A pin keeps a file open: a reader holds one during its read, a log for as long as the file has unflushed writes (closing
it earlier would lose the error of a failed writeback). Pinned files are never closed, so the limit may be passed while
many are dirty at once.

Any thread may call; one lock guards the tables and is never held while opening or closing a file.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from penstock.runtime.files import File, Files


class _Entry:
    __slots__ = ("file", "path", "pins", "stale", "writable")

    def __init__(self, path: Path, file: File, writable: bool) -> None:
        self.path = path
        self.file = file
        self.writable = writable
        self.pins = 1
        self.stale = False  # its path means another file now; close with the last pin


class LruFileCache:
    """Implements `storage.flush_queue.FileCache`."""

    def __init__(self, files: Files, open_files_max: int) -> None:
        self._files = files
        self._open_files_max = open_files_max
        self._lock = threading.Lock()
        self._by_path: dict[Path, _Entry] = {}
        self._by_file: dict[int, _Entry] = {}
        self._idle: OrderedDict[int, _Entry] = OrderedDict()  # unpinned, oldest first

    @property
    def open_count(self) -> int:
        return len(self._by_file)

    def acquire(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        """The open file, pinned until `release`. One opened for writing serves readers, too."""
        with self._lock:
            entry = self._pin_known(path, write)
        if entry is not None:
            return entry.file
        opened = _Entry(path, self._files.open(path, create=create, write=write), write)
        closing: list[_Entry] = []
        with self._lock:
            known = self._pin_known(path, write)  # another thread may have been faster
            if known is None:
                self._replace(path, opened, closing)
            else:
                closing.append(opened)
            self._shrink(closing)
        _close(closing)
        return (known or opened).file

    def release(self, file: File) -> None:
        closing: list[_Entry] = []
        with self._lock:
            entry = self._by_file[id(file)]
            entry.pins -= 1
            assert entry.pins >= 0, f"{entry.path} was released more often than acquired"
            if entry.pins == 0:
                if entry.stale:
                    self._drop(entry, closing)
                else:
                    self._idle[id(file)] = entry
                    if len(self._by_file) > self._open_files_max:
                        self._shrink(closing)
        if closing:
            _close(closing)

    def forget(self, path: Path) -> None:
        """Forget a path that was removed or now names another file."""
        closing: list[_Entry] = []
        with self._lock:
            self._retire(path, closing)
        _close(closing)

    def forget_below(self, directory: Path) -> None:
        """Every path in a directory tree was removed."""
        closing: list[_Entry] = []
        with self._lock:
            for path in [path for path in self._by_path if directory in path.parents]:
                self._retire(path, closing)
        _close(closing)

    def close(self) -> None:
        """Close everything, pinned or not: the engine has stopped and flushed, or gives up."""
        with self._lock:
            entries = list(self._by_file.values())
            self._by_path.clear()
            self._by_file.clear()
            self._idle.clear()
        _close(entries)

    def _pin_known(self, path: Path, write: bool) -> _Entry | None:
        entry = self._by_path.get(path)
        if entry is None or (write and not entry.writable):
            return None
        if entry.pins == 0:
            del self._idle[id(entry.file)]
        entry.pins += 1
        return entry

    def _replace(self, path: Path, entry: _Entry, closing: list[_Entry]) -> None:
        """A writable file takes the place of a read-only one, which its readers keep until they are done."""
        self._retire(path, closing)
        self._by_path[path] = entry
        self._by_file[id(entry.file)] = entry

    def _retire(self, path: Path, closing: list[_Entry]) -> None:
        entry = self._by_path.pop(path, None)
        if entry is None:
            return
        entry.stale = True
        if entry.pins == 0:
            self._drop(entry, closing)

    def _shrink(self, closing: list[_Entry]) -> None:
        while self._idle and len(self._by_file) > self._open_files_max:
            _, entry = self._idle.popitem(last=False)
            del self._by_path[entry.path]
            self._drop(entry, closing)

    def _drop(self, entry: _Entry, closing: list[_Entry]) -> None:
        self._idle.pop(id(entry.file), None)
        del self._by_file[id(entry.file)]
        closing.append(entry)


def _close(entries: list[_Entry]) -> None:
    for entry in entries:
        entry.file.close()
