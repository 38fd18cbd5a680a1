"""One process per data directory. The lock is `flock`, which the kernel drops with its holder, even on kill
-9.

The file's content (the holder's pid) is only for the message; it never decides anything. The file stays after
release: removing it would let two processes hold locks on two files of the same name.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from penstock.runtime.private_files import FILE_MODE
from penstock.storage.data_directory import DirectoryLocked, DirectoryNotWritable


class DirectoryLock:
    """Held from construction to `release`."""

    def __init__(self, path: Path) -> None:
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except OSError as error:
            raise DirectoryNotWritable(
                f"{path} cannot be opened for writing ({error.strerror}); change the owner or mode of"
                f" {path.parent}, or choose another --data-dir"
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid = _holder(self._fd)
            os.close(self._fd)
            who = f"process {pid}" if pid else "another process"
            raise DirectoryLocked(
                f"{path.parent} is in use by {who}; stop that one, or choose another --data-dir", pid
            ) from error
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _holder(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None
