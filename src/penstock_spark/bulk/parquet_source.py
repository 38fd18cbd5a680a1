"""A Parquet file, row group by row group.

    position  {"row": rows before, "size": of the file, "footer": CRC-32C of its end}

Parquet files are not changed in place: a different footer means a different file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from crc32c import crc32c

from penstock.bulk.errors import BulkError, Changed, Missing, Unfit
from penstock.bulk.rows import Piece, PieceLimits, Row, Source

FOOTER_BYTES = 64 << 10


class ParquetSource(Source):
    kind = "parquet"

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        try:
            self._file = pq.ParquetFile(path)
        except FileNotFoundError:
            raise Missing(f"file {path} does not exist") from None
        except (OSError, pa.ArrowException) as error:
            raise Unfit(f"{path} cannot be read as Parquet: {error}") from None
        self.columns = tuple(self._file.schema_arrow.names)
        self.total = self._file.metadata.num_rows
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - FOOTER_BYTES))
            self._stamp = {"size": size, "footer": crc32c(file.read())}
        self._row = 0
        self._batches = self._from(0)
        self._left: pa.RecordBatch | None = None

    def resume(self, position: dict[str, Any]) -> None:
        if {name: position.get(name) for name in self._stamp} != self._stamp:
            hint = "bring it back, or give --job a new name to load this one"
            raise Changed(f"{self.name} is not the file that was loaded up to row {position['row']}", hint)
        self._row = int(position["row"])
        self._batches, self._left = self._from(self._row), None

    def _from(self, row: int) -> Iterator[pa.RecordBatch]:
        before = 0
        for index in range(self._file.num_row_groups):
            count = self._file.metadata.row_group(index).num_rows
            if before + count > row:
                for batch in self._file.iter_batches(row_groups=[index]):
                    skipped = min(max(0, row - before), batch.num_rows)
                    before += batch.num_rows
                    yield batch.slice(skipped)
            else:
                before += count

    def read(self, limits: PieceLimits) -> Piece | None:
        try:
            batch = self._next()
        except (OSError, pa.ArrowException) as error:
            raise BulkError(f"{self.name}, after row {self._row}: {error}") from None
        if batch is None:
            return None
        rows_most = min(limits.rows, max(1, limits.size_bytes * batch.num_rows // max(1, batch.nbytes)))
        taken, self._left = batch.slice(0, rows_most), batch.slice(rows_most)
        columns = [column.to_pylist() for column in taken.columns]
        rows = [Row(self._row + number, cells) for number, cells in enumerate(zip(*columns, strict=True), 1)]
        self._row += taken.num_rows
        return Piece(rows, [], {"row": self._row, **self._stamp}, self._row)

    def _next(self) -> pa.RecordBatch | None:
        if self._left is not None and self._left.num_rows:
            return self._left
        return next((batch for batch in self._batches if batch.num_rows), None)

    def close(self) -> None:
        self._file.close()
