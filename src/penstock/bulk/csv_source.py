"""A CSV file: a header line, then rows; a quoted cell may have line ends in it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.bulk.errors import Unfit
from penstock.bulk.rows import Bad, Piece, PieceLimits, Row, Source
from penstock.bulk.text_file import TextFile

CELL_BYTES_MAX = 1 << 20
BYTE_ORDER_MARK = "\ufeff"


class CsvSource(Source):
    """`columns` are for a file without a header line."""

    kind = "csv"
    row_word = "line"

    def __init__(self, path: Path, *, delimiter: str = ",", columns: tuple[str, ...] | None = None) -> None:
        self.name = str(path)
        if len(delimiter) != 1:
            raise Unfit(f"the delimiter {delimiter!r} is not one character")
        self._file = TextFile(path)
        self.total = self._file.size
        self._raw: list[bytes] = []
        csv.field_size_limit(CELL_BYTES_MAX)  # a quote without its partner ends here, not in memory
        self._reader = csv.reader(self._lines(), delimiter=delimiter, strict=True)
        self.columns = columns or self._header()

    def _lines(self) -> Iterator[str]:
        while True:
            line = self._file.next_line()
            if not line:
                return
            self._raw.append(line)
            yield line.decode("utf-8", "surrogateescape")  # bytes that are not UTF-8 are noticed when they are encoded

    def _header(self) -> tuple[str, ...]:
        try:
            names = tuple(next(self._reader, []))
        except csv.Error as error:
            raise Unfit(f"the header of {self.name} is not CSV: {error}") from None
        if not names:
            raise Unfit(f"{self.name} is empty", "its first line names the columns, unless --columns does")
        self._raw.clear()
        names = (names[0].removeprefix(BYTE_ORDER_MARK), *names[1:])
        if len(set(names)) < len(names) or "" in names:
            raise Unfit(f"the header of {self.name} has a name twice, or an empty one: {', '.join(names)}")
        return names

    def resume(self, position: dict[str, Any]) -> None:
        self._file.resume(position)

    def read(self, limits: PieceLimits) -> Piece | None:
        rows: list[Row] = []
        bad: list[Bad] = []
        begun = self._file.byte
        assert self.columns is not None
        width = len(self.columns)
        while len(rows) + len(bad) < limits.rows and self._file.byte - begun < limits.size_bytes:
            self._raw.clear()
            number = self._file.line + 1
            try:
                cells = next(self._reader, None)
            except csv.Error as error:
                bad.append(Bad(number, f"is not CSV: {error}", self._text()))
                continue
            if cells is None:
                break
            if len(cells) == width:
                rows.append(Row(number, cells, self._text()))
            elif cells:
                bad.append(Bad(number, f"has {len(cells)} cells, and there are {width} columns", self._text()))
        if self._file.byte == begun:
            return None
        return Piece(rows, bad, self._file.position(), self._file.byte)

    def _text(self) -> bytes:
        return self._raw[0] if len(self._raw) == 1 else b"".join(self._raw)

    def close(self) -> None:
        self._file.close()
