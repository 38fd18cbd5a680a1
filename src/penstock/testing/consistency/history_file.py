"""Operations as lines of JSON.

A client notes an operation before it tries it, with outcome `unknown`, and notes it again when it knows more; of lines
with the same client and number the last one holds. Each note is one `write` to the end of the file, so what a client
noted is there however it dies. A last line that was cut off is left out.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from penstock.testing.consistency.history import (
    Assignment,
    End,
    FullRead,
    Generation,
    History,
    Isolation,
    OffsetCommit,
    OffsetFetch,
    Operation,
    Outcome,
    Poll,
    Position,
    Seen,
    Transaction,
    Write,
)

KINDS: Final[dict[str, type[Operation]]] = {
    "write": Write,
    "transaction": Transaction,
    "poll": Poll,
    "assignment": Assignment,
    "full_read": FullRead,
    "offset_commit": OffsetCommit,
    "offset_fetch": OffsetFetch,
}
_NAMES: Final = {kind: name for name, kind in KINDS.items()}
_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "outcome": Outcome,
    "isolation": Isolation,
    "generation": Generation,
    "end": lambda value: None if value is None else End(value),
    "records": lambda value: tuple(Seen(*each) for each in value),
    "positions": lambda value: tuple(Position(*each) for each in value),
}


def now() -> int:
    return time.monotonic_ns()


def to_line(operation: Operation) -> str:
    values = {field.name: getattr(operation, field.name) for field in fields(operation)}
    return json.dumps({"kind": _NAMES[type(operation)], **values}, separators=(",", ":"))


def from_line(line: str) -> Operation:
    values: dict[str, Any] = json.loads(line)
    kind = KINDS[values.pop("kind")]
    return kind(**{name: _READERS[name](value) if name in _READERS else value for name, value in values.items()})


class Recorder:
    """Writes the notes of one client. Numbers are given out in order, from 0."""

    def __init__(self, path: Path, client: str) -> None:
        self.client = client
        self._next = 0
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def number(self) -> int:
        self._next += 1
        return self._next - 1

    def note(self, *operations: Operation) -> None:
        if operations:
            os.write(self._file, "".join(to_line(operation) + "\n" for operation in operations).encode())

    def close(self) -> None:
        os.close(self._file)


def read_operations(path: Path) -> list[Operation]:
    """Read the operations, in the order of their first lines."""
    found: dict[tuple[str, int], Operation] = {}
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            operation = from_line(line)
            found[operation.client, operation.number] = operation
    return list(found.values())


def read_history(paths: Iterable[Path]) -> History:
    return History(operation for path in paths for operation in read_operations(path))
