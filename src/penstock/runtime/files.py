"""The file system behind a small interface, so that tests can replace it by one that fails and loses writes.

Storage uses only this interface for durable bytes. `RealFiles` is the thin layer over `os`;
`penstock.testing.faulty_files` simulates a loss of power. A `File` is one open descriptor.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from penstock.runtime.page_cache import is_cached
from penstock.runtime.private_files import DIRECTORY_MODE, FILE_MODE

Buffer = bytes | bytearray | memoryview

_libc = ctypes.CDLL(None, use_errno=True)
_IOVEC_COUNT_MAX = 1024  # Linux refuses more buffers in one call


class Calls:
    """How often this process asked the operating system to read, write and sync files.

    Plain numbers without a lock, from any thread: CPython 3.11 does not switch threads within such an addition, and a
    figure on a metrics page would not justify a lock if it did.
    """

    __slots__ = ("read", "sync", "write")

    def __init__(self) -> None:
        self.read = self.write = self.sync = 0


CALLS = Calls()


class File(Protocol):
    """One open file. Writes are positioned: the owner knows where the end is."""

    def pwrite(self, buffers: Sequence[Buffer], position: int) -> int:
        """Write all buffers at `position`, or raise OSError. A short write is retried, then raised as
        ENOSPC/EIO.
        """
        ...

    def pread(self, size: int, position: int) -> bytes:
        """Up to `size` bytes; shorter only at the end of the file."""
        ...

    def pread_into(self, buffer: bytearray | memoryview, position: int, *, wait: bool = True) -> int:
        """Read into `buffer`; with wait=False raise BlockingIOError rather than wait for the disk."""
        ...

    def mapped(self, size: int, position: int) -> memoryview | None:
        """The bytes in the page cache, not copied; None if some are not cached, or if that cannot be determined.

        The bytes must be used at once: if they leave the cache meanwhile, an access waits for the disk.
        """
        ...

    def size(self) -> int: ...
    def truncate(self, size: int) -> None: ...
    def datasync(self) -> None: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


class Files(Protocol):
    """The operations of storage on a file system."""

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> File: ...
    def read_bytes(self, path: Path) -> bytes: ...
    def write_durably(self, path: Path, data: Buffer) -> None:
        """Replace a small file: temporary name, sync, rename, directory sync."""
        ...

    def exists(self, path: Path) -> bool: ...
    def file_size(self, path: Path) -> int: ...
    def modified_ms(self, path: Path) -> int:
        """When the file was last written to, in milliseconds since 1970."""
        ...

    def list_names(self, directory: Path) -> list[str]: ...
    def make_directories(self, directory: Path, *, sync: bool = True) -> None:
        """Create a directory and its parents, and sync each directory with a new entry unless the caller does it."""
        ...

    def rename(self, old: Path, new: Path) -> None: ...
    def remove(self, path: Path) -> None: ...
    def remove_tree(self, directory: Path) -> None: ...
    def sync_directory(self, directory: Path) -> None: ...
    def open_directory(self, directory: Path) -> File:
        """A handle whose `datasync` makes the directory's entries durable: a directory among files to
        sync.
        """
        ...

    def sync_all(self, file: File) -> None:
        """syncfs: everything dirty on the file system that holds `file`, in one call.

        Errors of writeback are reported once per open file: keep one handle for all calls, opened before the
        first write, or an error may go unseen.
        """
        ...

    def allocate(self, path: Path, size: int) -> None:
        """Make a file that really occupies `size` bytes on the disk."""
        ...

    def free_bytes(self, directory: Path) -> int: ...


class RealFile:
    """A descriptor and the calls made on it. Closing twice is allowed."""

    __slots__ = ("_fd", "_knows_nowait")

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._knows_nowait = True

    def pwrite(self, buffers: Sequence[Buffer], position: int) -> int:
        CALLS.write += 1
        total = sum(map(len, buffers))
        written = os.pwritev(self._fd, buffers[:_IOVEC_COUNT_MAX], position)
        if written < total:
            self._write_rest(buffers, position, written)
        return total

    def _write_rest(self, buffers: Sequence[Buffer], position: int, written: int) -> None:
        """Write the rest after a short write, which is rare: very many buffers, a signal, or a full disk."""
        rest = memoryview(b"".join(buffers))
        while written < len(rest):
            CALLS.write += 1
            step = os.pwrite(self._fd, rest[written:], position + written)
            if step == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written += step

    def pread(self, size: int, position: int) -> bytes:
        CALLS.read += 1
        return os.pread(self._fd, size, position)

    def pread_into(self, buffer: bytearray | memoryview, position: int, *, wait: bool = True) -> int:
        CALLS.read += 1
        if wait:
            return os.preadv(self._fd, [buffer], position)
        if self._knows_nowait:
            try:
                return os.preadv(self._fd, [buffer], position, os.RWF_NOWAIT)
            except OSError as error:
                if error.errno != errno.EOPNOTSUPP:
                    raise
                self._knows_nowait = False  # tmpfs, FUSE, … do not support RWF_NOWAIT
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def mapped(self, size: int, position: int) -> memoryview | None:
        if position + size > self.size() or not is_cached(self._fd, position, size):
            return None
        CALLS.read += 1
        within = position % mmap.ALLOCATIONGRANULARITY
        pages = mmap.mmap(self._fd, within + size, prot=mmap.PROT_READ, offset=position - within)
        return memoryview(pages)[within:]

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def datasync(self) -> None:
        CALLS.sync += 1
        os.fdatasync(self._fd)

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class RealFiles:
    """The operating system's files."""

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> File:
        flags = os.O_CLOEXEC | (os.O_RDWR if write else os.O_RDONLY) | (os.O_CREAT if create else 0)
        return RealFile(os.open(path, flags, FILE_MODE))

    def read_bytes(self, path: Path) -> bytes:
        return path.read_bytes()

    def write_durably(self, path: Path, data: Buffer) -> None:
        temporary = path.with_name(path.name + ".tmp")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
        try:
            try:
                RealFile(fd).pwrite([data], 0)
                CALLS.sync += 1
                os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        self.sync_directory(path.parent)

    def exists(self, path: Path) -> bool:
        return path.exists()

    def file_size(self, path: Path) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: Path) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def list_names(self, directory: Path) -> list[str]:
        return os.listdir(directory)

    def make_directories(self, directory: Path, *, sync: bool = True) -> None:
        missing = []
        current = directory
        while not os.path.exists(current):
            missing.append(current)
            current = current.parent
        for path in reversed(missing):
            path.mkdir(DIRECTORY_MODE, exist_ok=True)
            if sync:
                self.sync_directory(path.parent)

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def remove(self, path: Path) -> None:
        os.unlink(path)

    def remove_tree(self, directory: Path) -> None:
        shutil.rmtree(directory)

    def sync_directory(self, directory: Path) -> None:
        handle = self.open_directory(directory)
        try:
            handle.datasync()
        finally:
            handle.close()

    def open_directory(self, directory: Path) -> File:
        return RealFile(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def allocate(self, path: Path, size: int) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            os.posix_fallocate(fd, 0, size)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(fd)

    def sync_all(self, file: File) -> None:
        CALLS.sync += 1
        if _libc.syncfs(file.fileno()) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def free_bytes(self, directory: Path) -> int:
        status = os.statvfs(directory)
        return status.f_bavail * status.f_frsize
