"""Rows before they become records: the common interface of all sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

Cells = Sequence[Any] | dict[str, Any]


class Row(NamedTuple):
    number: int
    """The number of its line in a file, or of the row in a table, from 1."""
    cells: Cells
    """Values by the source's columns, or by name where each row has its own."""
    raw: bytes = b""
    """The line as it is in the file, with its end."""


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
    """The position after these rows, as plain JSON."""
    done: int
    """The part of the source's total up to here."""


class PieceLimits(NamedTuple):
    """The limits of one transaction."""

    rows: int = 50_000
    size_bytes: int = 8 << 20


WHOLE_PIECES = PieceLimits()


class Source(ABC):
    """Rows in an order that is the same each time."""

    name: str
    """The name for messages: file, or file and table."""
    kind: str
    row_word = "row"
    """The unit that `Row.number` counts."""
    columns: tuple[str, ...] | None = None
    """The columns; None where each row has its own names."""
    total: int = 0
    """The total for the progress bar: bytes of a file, rows of a table."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def resume(self, position: dict[str, Any]) -> None:
        """Go to the position of an earlier run. Changed if the rows before it are not the same."""

    @abstractmethod
    def read(self, limits: PieceLimits) -> Piece | None:
        """The next rows; None at the end."""

    @abstractmethod
    def close(self) -> None: ...
