"""Modes of files and directories that hold data: for the user that runs the process and for nobody else.

They are given when a file is made, so the umask of the process does not matter. What exists already keeps its mode:
an administrator may have had a reason, and a process that changes modes on its own surprises backups and monitoring.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import stat
from pathlib import Path

logger = logging.getLogger(__name__)

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
_OTHERS = 0o077


def make_private(path: Path) -> None:
    """Make an empty file if there is none, for libraries that would make it with a wider mode.

    SQLite gives the files beside a database (-wal, -shm, -journal) the mode of the database. If it cannot be made, the
    library will find that out, and its errors are handled.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))


def warn_if_shared(directory: Path) -> None:
    """Log one warning if other users of the machine may look into a directory."""
    mode = stat.S_IMODE(os.stat(directory).st_mode)
    if mode & _OTHERS:
        logger.warning(
            "other users of this machine may look into %s (its mode is %04o); run: chmod -R go-rwx %s",
            directory, mode, shlex.quote(str(directory.absolute())),
        )  # fmt: skip
