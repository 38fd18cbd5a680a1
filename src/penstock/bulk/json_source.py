"""A file with one JSON value a line, objects as a rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from penstock.bulk.errors import Unfit
from penstock.bulk.rows import Bad, Piece, PieceLimits, Row, Source
from penstock.bulk.text_file import TextFile


class JsonLinesSource(Source):
    kind = "jsonl"
    row_word = "line"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._file = TextFile(path)
        self.total = self._file.size
        self._decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
        with path.open("rb") as file:
            if file.read(1 << 10).lstrip().startswith(b"["):
                hint = f"write one object a line: jq -c '.[]' {path} > {path.with_suffix('.jsonl')}"
                raise Unfit(f"{path} is one JSON array, not lines", hint)

    def resume(self, position: dict[str, Any]) -> None:
        self._file.resume(position)

    def read(self, limits: PieceLimits) -> Piece | None:
        rows: list[Row] = []
        bad: list[Bad] = []
        file, begun = self._file, self._file.byte
        while len(rows) + len(bad) < limits.rows and file.byte - begun < limits.size_bytes:
            line = file.next_line()
            if not line:
                break
            try:
                text = line.decode().strip()
                if text:
                    rows.append(Row(file.line, self._decode(text), line))
            except UnicodeDecodeError as error:
                bad.append(Bad(file.line, f"is not UTF-8 at byte {error.start + 1}", line))
            except ValueError as error:
                bad.append(Bad(file.line, f"is not JSON: {error}", line))
            except RecursionError:
                bad.append(Bad(file.line, "is nested too deeply", line))
        if file.byte == begun:
            return None
        return Piece(rows, bad, file.position(), file.byte)

    def close(self) -> None:
        self._file.close()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
