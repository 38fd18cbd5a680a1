"""Errors of commands: a message for people, and an exit code for programs.

    0  done                      3  the broker cannot be reached
    1  it failed                 4  a topic, group, file … does not exist
    2  wrong usage or settings   5  damage was found in stored data
                               130  interrupted with Ctrl-C

The message goes to stderr on one line; `hint` is the part that says what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import IntEnum

from penstock.model.counted import with_hint


class ExitCode(IntEnum):
    OK = 0
    FAILURE = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    DAMAGED = 5


class CommandError(Exception):
    """The end of a command, with a message for a person and a code for a program."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILURE, *, hint: str = "") -> None:
        super().__init__(with_hint(message, hint))
        self.code = code


def not_found(what: str, name: str, known: Iterable[str], otherwise: str) -> CommandError:
    """Return "topic ordrs does not exist; did you mean orders?", or another hint if nothing is similar."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    hint = f"did you mean {close[0]}?" if close else otherwise
    return CommandError(f"{what} {name} does not exist", ExitCode.NOT_FOUND, hint=hint)
