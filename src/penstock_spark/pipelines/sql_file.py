"""A file of SQL definitions, and the places of mistakes in it.

Spark names a line within the statement, counted from behind the semicolon of the statement before. People need the
file and the line in that file.
"""

from __future__ import annotations

import re
from pathlib import Path

from penstock.cli.pipeline.tables import SQL_TABLE

_TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|(;)", re.DOTALL)
_LINE = re.compile(r"\(line (\d+), pos \d+\)|;? line (\d+) pos (\d+);?")
_QUOTED = re.compile(r"^== SQL[^\n]*==\n(.*?)^-*\^\^\^", re.DOTALL | re.MULTILINE)


class SqlMistake(Exception):
    """A refusal of Spark, with its place in a file of the project."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__(text)
        self.place = place


class SqlFile:
    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._statements = _split(text)
        self.tables = [name.replace("`", "") for name in SQL_TABLE.findall(text)]

    def mistake(self, message: str) -> SqlMistake:
        """Place a refusal of the file as a whole: the statement is the one that Spark quotes."""
        quoted = _QUOTED.search(message)
        fits = [at for at, text in self._statements if quoted and text.startswith(quoted[1].rstrip("\n"))]
        return SqlMistake(self._place(message, fits[0] if len(fits) == 1 else None), without_line(message))

    def place_of_flow(self, flow: str, message: str) -> str:
        """Return the place of what Spark says about a flow; empty if the flow is not defined in this file."""
        name = flow.rpartition(".")[2].casefold()
        for at, text in self._statements:
            found = SQL_TABLE.search(text)
            if found and found[1].replace("`", "").rpartition(".")[2].casefold() == name:
                return self._place(message, at)
        return ""

    def _place(self, message: str, start: int | None) -> str:
        line = _LINE.search(message)
        if line is None or start is None:
            return f"{self.path}: "
        return f"{self.path}:{start + int(line[1] or line[2]) - 1}: "


def without_line(message: str) -> str:
    """Remove Spark's own line numbers, which do not count from the top of the file."""
    return _LINE.sub("", message)


def _split(text: str) -> list[tuple[int, str]]:
    """Return the statements, each with the number of the line on which it begins."""
    statements, start = [], 0
    ends = [token.start() for token in _TOKEN.finditer(text) if token[1]]
    for end in [*ends, len(text)]:
        statements.append((text.count("\n", 0, start) + 1, text[start:end]))
        start = end + 1
    return statements
