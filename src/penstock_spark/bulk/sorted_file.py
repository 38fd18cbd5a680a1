"""One Parquet file of an archive while it is being written: rows of one date by partition and offset.

A row group has rows of one partition only, so that a reader of one partition reads nothing else, and files can be
merged group by group.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock_spark.bulk.manifest import ArchiveFile, Span
from penstock_spark.reading.records.fields import arrow_schema

COLUMNS = ("key", "value", "partition", "offset", "timestamp", "timestampType", "headers")
"""The topic is in the path, where readers find it as a column."""
SCHEMA = arrow_schema(COLUMNS)
ROW_GROUP_BYTES = 32 << 20
US_PER_MS = 1_000


class SortedFile:
    def __init__(self, path: Path, date: str, compression: str) -> None:
        self._path, self._date = path, date
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(
            self._sink,
            SCHEMA,
            compression=compression,
            use_dictionary=["key"],
            column_encoding={"offset": "DELTA_BINARY_PACKED", "timestamp": "DELTA_BINARY_PACKED"},
            write_statistics=["partition", "offset", "timestamp"],
        )
        self._partition = -1
        self._waiting: list[pa.RecordBatch] = []
        self.waiting_bytes = 0
        self._first_us, self._last_us = (1 << 63) - 1, -(1 << 63)
        self._rows = 0
        self._spans: dict[int, Span] = {}

    @property
    def size_bytes(self) -> int:
        """The size of what is written so far."""
        return int(self._sink.tell())

    def add(self, partition: int, rows: pa.RecordBatch) -> None:
        """Add rows of one partition, behind all earlier ones."""
        if not rows.num_rows:
            return
        if partition != self._partition:
            self.flush()
            self._partition = partition
        offsets = longs(rows.column("offset"))
        times = longs(rows.column("timestamp"))
        self._first_us = min(self._first_us, int(times.min()))
        self._last_us = max(self._last_us, int(times.max()))
        before = self._spans.get(partition)
        first = int(offsets[0]) if before is None else min(before.first, int(offsets[0]))
        count = rows.num_rows + (0 if before is None else before.rows)
        last = int(offsets[-1]) if before is None else max(before.last, int(offsets[-1]))
        self._spans[partition] = Span(first, last, count)
        self._rows += rows.num_rows
        self._waiting.append(rows)
        self.waiting_bytes += rows.nbytes
        if self.waiting_bytes >= ROW_GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows as a row group."""
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, SCHEMA)
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
            self._waiting, self.waiting_bytes = [], 0

    def finish(self) -> ArchiveFile:
        """Complete the file and sync it, under its original path."""
        self.flush()
        self._writer.close()
        self._sink.close()
        descriptor = os.open(self._path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        first_ms, last_ms = self._first_us // US_PER_MS, self._last_us // US_PER_MS
        return ArchiveFile(
            path=str(self._path),
            date=self._date,
            rows=self._rows,
            size_bytes=size,
            first_ms=first_ms,
            last_ms=last_ms,
            spans=dict(self._spans),
        )


def longs(column: pa.Array) -> NDArray[np.int64]:
    """Offsets or times, not copied. They are never null."""
    return np.asarray(column.view(pa.int64()).to_numpy(zero_copy_only=True))
