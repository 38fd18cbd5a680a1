"""Bad rows put aside: a file with a JSON object a line, with the row's place, the reason and the row itself.

It is written before the transaction that skips the rows, and cut back to the size in the marker when a job continues,
so that every bad row is in it once. Existing content of the file stays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from penstock.bulk.errors import BulkError, Changed
from penstock.bulk.rows import Bad


class BadRowFile:
    """The file that `--skip-bad` names. `row_word` is the word of the source for its rows."""

    def __init__(self, path: Path, row_word: str) -> None:
        self.path = path
        self._row_word = row_word
        try:
            self._file = path.open("ab")
        except OSError as error:
            raise BulkError(f"{path} cannot be written ({(error.strerror or str(error)).lower()})") from error

    @property
    def size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def resume(self, size: int) -> None:
        """Cut off rows of a transaction that was never committed."""
        if self.size < size:
            hint = "bring it back, or give --job a new name"
            raise Changed(f"{self.path} is shorter than the {size} bytes of bad rows that were put there", hint)
        self._file.truncate(size)

    def put(self, rows: Iterable[Bad]) -> int:
        """Write bad rows; they are on disk when this returns. Returns the size of the file."""
        for row in rows:
            text = row.raw.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
            line = {self._row_word: row.number, "reason": row.reason, "row": text}
            self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        return self.size

    def close(self) -> None:
        self._file.close()
