"""Rows of a source, before they are records: what every source gives, whatever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

Cells = Sequence[Any] | dict[str, Any]


class Row(NamedTuple):
    number: int
    """Of its line in a file, or of the row in a table, from 1."""
    cells: Cells
    """By the source's columns, or by name where each row has its own."""
    raw: bytes = b""
    """The line as it stands, with its end."""


class Bad(NamedTuple):
    """A row that cannot be loaded, and why."""

    number: int
    reason: str
    raw: bytes


class Piece(NamedTuple):
    """Some rows, in order. The same rows come again if reading begins again at the same position."""

    rows: list[Row]
    bad: list[Bad]
    position: dict[str, Any]
    """After these rows, as plain JSON."""
    done: int
    """Of the source's total, up to here."""


class PieceLimits(NamedTuple):
    """How much goes into one transaction."""

    rows: int = 50_000
    size_bytes: int = 8 << 20


WHOLE_PIECES = PieceLimits()


class Source(ABC):
    """Rows in an order that is the same each time."""

    name: str
    """For messages: file, or file and table."""
    kind: str
    row_word = "row"
    """The unit that `Row.number` counts."""
    columns: tuple[str, ...] | None = None
    """None where each row has its own names."""
    total: int = 0
    """Bytes of a file, rows of a table: what the bar shows."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def resume(self, position: dict[str, Any]) -> None:
        """Go to where an earlier run has come. Changed if what lies before is not what it was."""

    @abstractmethod
    def read(self, limits: PieceLimits) -> Piece | None:
        """The next rows; None at the end."""

    @abstractmethod
    def close(self) -> None: ...
