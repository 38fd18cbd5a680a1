"""Merge of several sorted files into one, row group by row group: small files become large ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from penstock_spark.bulk.manifest import ArchiveFile
from penstock_spark.bulk.sorted_file import COLUMNS, US_PER_MS, SortedFile


class Group(NamedTuple):
    """A row group: its partition and its range of offsets."""

    partition: int
    first_offset: int
    last_offset: int
    first_ms: int
    last_ms: int
    number: int


def groups(file: pq.ParquetFile) -> list[Group]:
    """The row groups, from the statistics in the footer; nothing else is read."""
    metadata = file.metadata
    names = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    found = []
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        partition, offset, time = (
            group.column(names.index(name)).statistics for name in ("partition", "offset", "timestamp")
        )
        # Raw, since there are times that Python's datetime does not know.
        times = (time.min_raw // US_PER_MS, time.max_raw // US_PER_MS)
        found.append(Group(partition.min_raw, offset.min_raw, offset.max_raw, *times, index))
    return found


def read_group(file: pq.ParquetFile, group: Group) -> Iterator[pa.RecordBatch]:
    yield from file.read_row_group(group.number, columns=list(COLUMNS)).to_batches()


def merge(inputs: Sequence[Path], into: Path, date: str, compression: str) -> ArchiveFile:
    """Merge files into one, in order. Their offsets of a partition are stretches that do not overlap."""
    files = [pq.ParquetFile(path) for path in inputs]
    output = SortedFile(into, date, compression)
    found = sorted((group, number) for number, file in enumerate(files) for group in groups(file))
    for group, number in found:
        for batch in read_group(files[number], group):
            output.add(group.partition, batch)
    for file in files:
        file.close()
    return output.finish()
