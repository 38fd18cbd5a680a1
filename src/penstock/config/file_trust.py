"""Whose a file is that gives rights or holds a secret: only this user's, or the administrator's, is trusted.

Whoever owns a file can change it at any time, and whoever can write a directory can put another file in its place.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

_ADMINISTRATOR = 0
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class UntrustedFileError(ValueError):
    """Others can change or replace the file; the message names it and the remedy."""


def check_writers(path: Path) -> None:
    """Refuse a file that others can change or replace; for libraries that read it themselves. OSError as of `stat`."""
    problem = write_problem(path, path.stat())
    if problem is not None:
        raise UntrustedFileError(f"{path}: {problem}")


def owner_problem(path: Path, status: os.stat_result) -> str | None:
    """What is wrong with a file's owner, and the remedy; None if it is trusted."""
    if status.st_uid in (os.geteuid(), _ADMINISTRATOR):
        return None
    name = shlex.quote(str(path.absolute()))
    return f"it belongs to another user of this machine ({status.st_uid}); run: chown {os.geteuid()} {name}"


def write_problem(path: Path, status: os.stat_result) -> str | None:
    """The same for files of which others may know the content, but which they must not change or replace."""
    mode = status.st_mode
    if mode & _WRITABLE_BY_OTHERS:
        return f"other users of this machine can write it{_remedy(path, mode)}"
    problem = owner_problem(path, status)
    if problem is not None:
        return problem
    for directory in {path.absolute().parent, path.resolve().parent}:  # that of a link, and that of the file
        if os.statvfs(directory).f_flag & os.ST_RDONLY:
            continue  # as volumes with settings are in containers, whatever their modes say
        where = directory.stat()
        if where.st_mode & _WRITABLE_BY_OTHERS and not where.st_mode & stat.S_ISVTX:
            return f"other users of this machine can replace it in {directory}{_remedy(directory, where.st_mode)}"
        problem = owner_problem(directory, where)
        if problem is not None:
            return f"its directory {directory} is not this user's: {problem}"
    return None


def _remedy(path: Path, mode: int) -> str:
    return f" (its mode is {stat.S_IMODE(mode):04o}); run: chmod go-w {shlex.quote(str(path.absolute()))}"
