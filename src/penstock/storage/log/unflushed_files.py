"""The files of one log that hold writes which are not yet known to be on disk.

The active segment's file is held while anything in it is unflushed; files of segments that were sealed meanwhile, and
directories that got a new entry, stay until a flush covers their last offset. Held means pinned in the cache: closing a
file with dirty pages would lose the error of writing them back.

The event loop changes this state and the flush thread reads it without a lock. That is safe because the tuple is
replaced, never changed in place, and because `targets` reads the active file before the tuple: `seal` moves a file from
the first to the second, so it can be seen twice but never missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.runtime.files import Buffer, File, Files
from penstock.storage.flush.flushable import FileCache


class DirectoryEntry:
    """A new name in a directory, in the form of a file to sync. Its descriptor is that of the file with the name."""

    __slots__ = ("_directory", "_file", "_files")

    def __init__(self, files: Files, directory: Path, file: File) -> None:
        self._files = files
        self._directory = directory
        self._file = file

    def datasync(self) -> None:
        self._files.sync_directory(self._directory)

    def fileno(self) -> int:
        return self._file.fileno()

    def size(self) -> int:
        return self._file.size()

    def pwrite(self, buffers: Sequence[Buffer], position: int) -> int:
        raise AssertionError("a directory entry is only synced")

    def pread(self, size: int, position: int) -> bytes:
        raise AssertionError("a directory entry is only synced")

    def pread_into(self, buffer: bytearray | memoryview, position: int, *, wait: bool = True) -> int:
        raise AssertionError("a directory entry is only synced")

    def mapped(self, size: int, position: int) -> memoryview | None:
        raise AssertionError("a directory entry is only synced")

    def truncate(self, size: int) -> None:
        raise AssertionError("a directory entry is only synced")

    def close(self) -> None:
        """Do nothing: it owns no file."""


class UnflushedFiles:
    """Pins and directory entries, each with the offset that a flush must reach to let it go."""

    __slots__ = ("_cache", "_older", "active")

    def __init__(self, cache: FileCache) -> None:
        self._cache = cache
        self._older: tuple[tuple[File, int, bool], ...] = ()  # file, end offset, pinned
        self.active: File | None = None

    def new_entry(self, files: Files, directories: Sequence[Path], file: File, base_offset: int) -> None:
        """Note the new file of the segment at `base_offset`, whose name must be synced with its first batch.

        `directories`: the file's own, and those above it that may be new as well.
        """
        entries = ((DirectoryEntry(files, directory, file), base_offset + 1, False) for directory in directories)
        self._older = (*self._older, *entries)

    def seal(self, end_offset: int) -> None:
        """The active file gets no more writes; it is held until everything below `end_offset` is flushed."""
        if self.active is not None:
            self._older = (*self._older, (self.active, end_offset, True))
            self.active = None

    def targets(self) -> list[File]:
        """A segment's file first, each once. Any thread."""
        active = self.active  # before `_older`: `seal` moves it there
        older = self._older
        files: list[File] = [] if active is None else [active]
        if not older:
            return files
        files += [file for file, _, pinned in older if pinned and file is not active]
        files += [file for file, _, pinned in older if not pinned]
        return files

    def flushed(self, end: int, *, all_of_it: bool) -> None:
        """Let go of what ends at or below `end`; of the active file, too, if nothing was written since."""
        if self._older:
            kept = tuple(item for item in self._older if item[1] > end)
            done = [item for item in self._older if item[1] <= end]
            self._older = kept
            for file, _, pinned in done:
                if pinned:
                    self._cache.release(file)
        if all_of_it and self.active is not None:
            file, self.active = self.active, None
            self._cache.release(file)

    def abandon(self) -> None:
        """Give up the files of a log that is offline or closed: no flush will cover them."""
        self.flushed(1 << 63, all_of_it=True)
