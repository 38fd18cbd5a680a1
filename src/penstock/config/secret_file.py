"""Files with secrets, such as passwords and private keys: they are read only if nobody else can read them."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from penstock.config.file_trust import owner_problem

SECRET_BYTES_MAX = 64 * 1024
_OTHERS = 0o077


class SecretFileError(ValueError):
    """The file cannot be used; the message names the remedy, and nothing of the file's content."""


def check_secret_file(path: Path) -> None:
    """Refuse a file that other users may read or replace; for libraries that read it themselves."""
    try:
        _check(path, path.stat())
    except OSError as error:
        raise _unreadable(path, error) from error


def read_private_bytes(path: Path, bytes_max: int) -> bytes:
    """The content of a file that nobody else can read, or one byte more than the most."""
    try:
        with path.open("rb") as file:
            _check(path, os.fstat(file.fileno()))  # of the file that is read, not of one that took its place
            return file.read(bytes_max + 1)
    except OSError as error:
        raise _unreadable(path, error) from error


def read_secret_file(path: Path) -> str:
    """The text of a file, without the line break at its end."""
    content = read_private_bytes(path, SECRET_BYTES_MAX)
    if len(content) > SECRET_BYTES_MAX:
        raise SecretFileError(f"{path} has more than {SECRET_BYTES_MAX} bytes; it should hold the secret alone")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise SecretFileError(f"{path} is not text in UTF-8") from None
    return text.removesuffix("\n").removesuffix("\r")


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SecretFileError(f"{path} is not a file")
    mode = stat.S_IMODE(status.st_mode)
    if mode & _OTHERS:
        raise SecretFileError(
            f"{path} is open to other users of this machine (its mode is {mode:04o});"
            f" run: chmod 600 {shlex.quote(str(path.absolute()))}"
        )
    problem = owner_problem(path, status)
    if problem is not None:
        raise SecretFileError(f"{path}: {problem}")


def _unreadable(path: Path, error: OSError) -> SecretFileError:
    return SecretFileError(f"{path} cannot be read ({error.strerror or error})")
