"""Tables for people and JSON for programs. Results go to stdout, everything else to stderr.

A table is as wide as the terminal; in a file or a pipe it is as wide as its content, so that no name is cut.
Names and texts of others are shown without control characters (`model.text.printable`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from penstock.model.text.printable import printable, printable_json, printable_lines

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 1000


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, soft_wrap=False, width=None if stream.isatty() else PIPE_WIDTH)


def print_json(value: Any) -> None:
    sys.stdout.write(json_text(value, indent=2) + "\n")


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that people can read and terminals can show."""
    return printable_json(json.dumps(value, indent=indent, default=str, ensure_ascii=False))


def write_text(line: str) -> None:
    """Write a line of a message, as it is into a file or pipe; a terminal gets no control characters of strangers."""
    sys.stdout.write((printable_lines(line) if _is_terminal() else line) + "\n")


@cache
def _is_terminal() -> bool:
    return sys.stdout.isatty()  # a system call, which is too much for each message


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None, numbers: Iterable[str] = ()
) -> None:
    """Print a table; the columns named in `numbers` are aligned to the right."""
    from rich import box
    from rich.table import Table

    right = set(numbers)
    table = Table(
        title=printable(title) if title is not None else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for column in columns:
        # Folding keeps all of a long name; cutting it with an ellipsis would make it useless for copying.
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*("-" if cell is None else _plain(cell) for cell in row))
    console().print(table)


def _plain(cell: object) -> str:
    from rich.markup import escape

    return escape(printable(f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)))


def note(message: str) -> None:
    """Write a remark to stderr; it is never part of the output."""
    sys.stderr.write(printable_lines(message) + "\n")
