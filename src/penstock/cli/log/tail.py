"""The line of a program's log that explains why it ended."""

from __future__ import annotations

import re
from pathlib import Path

TAIL_BYTES = 64 * 1024
_TELLING = re.compile(r"(^Caused by: |^Exception in thread|\bERROR\b|^[\w.$]+(?:Error|Exception)\b|^Error:)")


def telling_line(log: Path) -> str:
    """Return the innermost cause, else the last error, else the last line."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    errors = [line for line in lines if _TELLING.search(line)]
    if causes:
        return causes[-1].removeprefix("Caused by: ")
    return (errors or lines or ["it printed nothing"])[-1]
