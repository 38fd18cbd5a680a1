"""Passwords for commands: asked for at a terminal, from a file, or from standard input; never an argument.

Arguments of a process can be read by everybody on its machine.
"""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.terminal.errors import CommandError, ExitCode

PASSWORD_BYTES_MAX = 1_024

PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file",
        metavar="FILE",
        help="File whose first line is the password; - for standard input. Without it, a terminal is asked.",
    ),
]


def read_password(file: Path | None, user: str) -> str:
    """The new password of a user. CommandError if there is none, or it cannot be one."""
    if file is not None and str(file) != "-":
        try:
            text = file.read_text()
        except OSError as error:
            raise CommandError(f"--password-file {file}: {error.strerror}", ExitCode.NOT_FOUND) from error
    elif file is None and sys.stdin.isatty():
        text = getpass.getpass(f"Password of {user}: ")
        if getpass.getpass("Again: ") != text:
            raise CommandError("the two passwords differ", ExitCode.USAGE, hint="nothing was changed; try again")
    else:
        text = sys.stdin.readline()
    return _checked(text.partition("\n")[0].removesuffix("\r"))


def _checked(password: str) -> str:
    if not password:
        hint = "type one, or give it with --password-file or on standard input"
        raise CommandError("the password is empty", ExitCode.USAGE, hint=hint)
    if len(password.encode()) > PASSWORD_BYTES_MAX or "\0" in password:
        raise CommandError(f"a password has at most {PASSWORD_BYTES_MAX} bytes, and no NUL among them", ExitCode.USAGE)
    return password
