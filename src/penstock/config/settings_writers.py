"""Who can write the settings file: it decides who gets in, and may name code that the process loads.

A file with such settings is for nobody else to write. One without them is used, with a warning: a developer's own
directory is often open to a group.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from penstock.config.file_trust import write_problem
from penstock.config.shown_value import secret_keys

_PROTECTION: Final = ("acl", "listeners", "sasl", "security", "tls")
_CODE: Final = frozenset({"consumers.modules", "consumers.principal"})


def writers_problem(path: Path) -> str | None:
    """Why others are to be feared as writers of the file, and the remedy; None for a pipe, which is the caller's."""
    try:
        status = path.stat()
        problem = write_problem(path, status) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        return None
    return None if problem is None else f"the settings file {path}: {problem}"


def decides_on_security(keys: Iterable[str]) -> bool:
    """Whether settings among these protect the process, run in it, or are secrets."""
    secrets = secret_keys()
    return any(key.partition(".")[0] in _PROTECTION or key in _CODE or key in secrets for key in keys)
