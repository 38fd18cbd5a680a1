"""Lines of a file with their places, and a checksum of all earlier lines, by which a restart recognises the file.

    position  {"byte": …, "line": …, "checksum": CRC-32C of the bytes before, "size": …, "changed_ns": …}

Size and time of the file are compared first, as `make` does. If they have changed, the bytes before the position are
read again and must have the same checksum; later bytes may be new or corrected.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from crc32c import crc32c

from penstock.bulk.errors import BulkError, Changed, Missing, Unfit

LINE_BYTES_MAX = 16 << 20
BLOCK_BYTES = 1 << 20


class TextFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("rb", buffering=BLOCK_BYTES)
        except FileNotFoundError:
            raise Missing(f"file {path} does not exist") from None
        except IsADirectoryError:
            raise Unfit(f"{path} is a directory", "name one file") from None
        except OSError as error:
            raise BulkError(f"{path} cannot be read ({(error.strerror or str(error)).lower()})") from error
        self.byte = 0
        self.line = 0
        self._checksum = 0
        self._taken: list[bytes] = []
        self._stat = os.fstat(self._file.fileno())
        self.size = self._stat.st_size

    def close(self) -> None:
        self._file.close()

    def next_line(self) -> bytes:
        """The next line with its end; empty at the end of the file."""
        line = self._file.readline(LINE_BYTES_MAX)
        if len(line) == LINE_BYTES_MAX:
            raise BulkError(f"line {self.line + 1} of {self.path} is longer than {LINE_BYTES_MAX >> 20} MiB")
        if line:
            self.byte += len(line)
            self.line += 1
            self._taken.append(line)
        return line

    def position(self) -> dict[str, Any]:
        self._checksum = crc32c(b"".join(self._taken), self._checksum)
        self._taken.clear()
        return {
            "byte": self.byte,
            "line": self.line,
            "checksum": self._checksum,
            "size": self.size,
            "changed_ns": self._stat.st_mtime_ns,
        }

    def resume(self, position: dict[str, Any]) -> None:
        byte = int(position["byte"])
        is_same = (position["size"], position["changed_ns"]) == (self.size, self._stat.st_mtime_ns)
        if not is_same and (self.size < byte or self._checksum_to(byte) != position["checksum"]):
            hint = "bring the old file back, or give --job a new name to load this one from its first row"
            raise Changed(f"{self.path} has changed where it was loaded already, up to line {position['line']}", hint)
        self.byte, self.line, self._checksum = byte, int(position["line"]), int(position["checksum"])
        self._taken.clear()
        self._file.seek(byte)
        self._check_line_end()

    def _check_line_end(self) -> None:
        """Check that bytes after a last line without an end begin with a line end."""
        if self.byte == 0 or self.byte == self.size:
            return
        self._file.seek(self.byte - 1)
        if self._file.read(1) == b"\n":
            return
        if self.next_line().strip():
            hint = "end each line before it is loaded"
            raise Changed(f"line {self.line - 1} of {self.path} was loaded as its last and is longer now", hint)
        self.line -= 1

    def _checksum_to(self, byte: int) -> int:
        self._file.seek(0)
        checksum, left = 0, byte
        while left and (block := self._file.read(min(BLOCK_BYTES, left))):
            checksum = crc32c(block, checksum)
            left -= len(block)
        return checksum
