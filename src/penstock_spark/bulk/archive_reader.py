"""Rows of an archive, one partition at a time, in the order of their offsets.

Offsets rise within a file, but dates overlap where times are not in order, so several files are merged: rows up to the
smallest last offset of all open files are complete and can be returned. Files are opened when they are needed; of each
open file one row group is in memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.bulk.errors import Damaged, Missing
from penstock_spark.bulk.manifest import ArchiveFile, Manifest, ManifestFile
from penstock_spark.bulk.merge import groups, read_group
from penstock_spark.bulk.sorted_file import US_PER_MS, longs

SETTLE_S = 30.0


class Times(NamedTuple):
    """A half-open interval of times, in ms."""

    start: int = -(1 << 62)
    end: int = 1 << 62

    def overlap(self, first_ms: int, last_ms: int) -> bool:
        return first_ms < self.end and last_ms >= self.start


def read_manifest(root: Path, topic: str) -> Manifest:
    """Read the manifest, and wait while a running archive renames files; the next archive repairs one that died."""
    file = ManifestFile(root, topic)
    deadline = time.monotonic() + SETTLE_S
    while True:
        manifest = file.load()
        if manifest is None:
            raise Missing(f"{root} has no archive of {topic}")
        if file.is_settled(manifest):
            return manifest
        if time.monotonic() > deadline:
            raise Damaged(f"the last archive of {topic} did not end", "run `penstock archive` again, which mends it")
        time.sleep(0.05)


class PartitionReader:
    """Rows of one partition with offsets from `first` to before `end`, and with times in the wanted interval."""

    def __init__(
        self, root: Path, files: Sequence[ArchiveFile], partition: int, first: int, end: int, times: Times
    ) -> None:
        self._root, self._partition, self._first, self._end, self._times = root, partition, first, end, times
        wanted = [
            each
            for each in files
            if partition in each.spans
            and each.spans[partition].last >= first
            and each.spans[partition].first < end
            and times.overlap(each.first_ms, each.last_ms)
        ]
        self._files = sorted(wanted, key=lambda each: each.spans[partition].first)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        waiting = list(self._files)
        heads: list[_Head] = []
        while waiting or heads:
            if not heads:
                self._open(waiting, heads)
                continue
            bound = min(head.last_offset for head in heads)
            if waiting and waiting[0].spans[self._partition].first <= bound:
                self._open(waiting, heads)
                continue
            parts = [head.take(bound) for head in heads]
            heads = [head for head in heads if head.refill()]
            yield _in_order([part for part in parts if part.num_rows])

    def _open(self, waiting: list[ArchiveFile], heads: list[_Head]) -> None:
        head = _Head(self._rows(waiting.pop(0)))
        if head.refill():
            heads.append(head)

    def _rows(self, archived: ArchiveFile) -> Iterator[pa.RecordBatch]:
        path = self._root / archived.path
        try:
            with pq.ParquetFile(path) as file:
                for group in groups(file):
                    if (
                        group.partition == self._partition
                        and group.last_offset >= self._first
                        and group.first_offset < self._end
                        and self._times.overlap(group.first_ms, group.last_ms)
                    ):
                        for batch in read_group(file, group):
                            yield self._wanted(batch)
        except (OSError, pa.ArrowException) as error:
            reason = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
            raise Damaged(f"{path}, which the manifest names, {reason}", "bring it back from a copy") from None

    def _wanted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        offsets = longs(batch.column("offset"))
        times = longs(batch.column("timestamp")) // US_PER_MS
        mask = (offsets >= self._first) & (offsets < self._end)
        mask &= (times >= self._times.start) & (times < self._times.end)
        return batch if mask.all() else batch.filter(pa.array(mask))


class _Head:
    """An open file: the rows that were read and not yet returned."""

    def __init__(self, rows: Iterator[pa.RecordBatch]) -> None:
        self._rows = rows
        self._batch: pa.RecordBatch | None = None

    def refill(self) -> bool:
        """Read the next row group; False at the end of the file."""
        while self._batch is None or not self._batch.num_rows:
            self._batch = next(self._rows, None)
            if self._batch is None:
                return False
        return True

    @property
    def last_offset(self) -> int:
        assert self._batch is not None
        return int(self._batch.column("offset")[-1].as_py())

    def take(self, bound: int) -> pa.RecordBatch:
        assert self._batch is not None
        count = int(np.searchsorted(longs(self._batch.column("offset")), bound, "right"))
        taken, self._batch = self._batch.slice(0, count), self._batch.slice(count)
        return taken


def _in_order(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    table = pa.Table.from_batches(parts).combine_chunks()
    table = table.take(pc.sort_indices(table.column("offset"))).combine_chunks()
    return table.to_batches()[0]
