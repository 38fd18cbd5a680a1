"""`penstock replay` without its screen: it writes an archive, or a part of it, back into a topic, each record once.

The next record is always taken from the partition where it is the oldest, so that times rise in the topic about as they
originally did. Within a partition the order is that of the offsets.

A marker of the job (`penstock.bulk.entry`) also has an "archive_id"; its position is the next offset of each of the
archive's partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.bulk.entry import Entry, check_kind, check_settings, new_entry
from penstock.bulk.errors import Changed, Missing, Unfit
from penstock.bulk.rows import PieceLimits
from penstock.bulk.topics import KnownTopic
from penstock.bulk.transfer import Feed, Portion
from penstock_spark.bulk.archive_reader import PartitionReader, Times
from penstock_spark.bulk.manifest import Manifest
from penstock_spark.bulk.row_packer import RowPacker
from penstock_spark.bulk.sorted_file import longs


class Part(NamedTuple):
    """A selection of records of an archive."""

    times: Times = Times()
    partitions: tuple[int, ...] | None = None


class ReplayFeed(Feed):
    def __init__(
        self,
        root: Path,
        manifest: Manifest,
        part: Part,
        topic: KnownTopic,
        packer: RowPacker,
        settings: dict[str, Any],
        *,
        job: str,
        limits: PieceLimits | None = None,
    ) -> None:
        self._root, self._manifest, self._part, self._packer = root, manifest, part, packer
        self._limits = limits or PieceLimits()
        self._streams: dict[int, _Stream] = {}
        self._entry = new_entry("replay", job, topic, settings, archive_id=manifest.archive_id, position={})
        self._partitions = chosen_partitions(manifest, part)

    @property
    def rows(self) -> int:
        return int(self._entry["rows"])

    def resume(self, entry: Entry | None) -> None:
        if entry is not None:
            check_kind(entry, "replay")
            if entry["archive_id"] != self._manifest.archive_id:
                raise Changed(f"{self._root} is not the archive that the job began with", "choose another --job")
            check_settings(entry["settings"], self._entry["settings"])
            self._entry = entry
        files = list(self._manifest.files.values())
        for index in self._partitions:
            first = int(self._entry["position"].get(str(index), 0))
            end = self._manifest.next_offsets[index]
            self._streams[index] = _Stream(PartitionReader(self._root, files, index, first, end, self._part.times))

    def portions(self) -> Iterator[Portion]:
        waiting = {index: stream for index, stream in self._streams.items() if stream.refill()}
        while waiting:
            index = min(waiting, key=lambda each: (waiting[each].next_time, each))
            yield self._portion(index, waiting[index].take(self._limits))
            if not waiting[index].refill():
                del waiting[index]
        if not self._entry["is_done"]:
            self._entry = {**self._entry, "is_done": True}
            yield Portion(self._entry, 0)

    def _portion(self, index: int, rows: pa.RecordBatch) -> Portion:
        last = int(longs(rows.column("offset"))[-1])
        self._entry = {
            **self._entry,
            "position": {**self._entry["position"], str(index): last + 1},
            "rows": self._entry["rows"] + rows.num_rows,
            "is_done": False,
        }
        return Portion(self._entry, rows.num_rows, self._packer.pack(rows))


class _Stream:
    """The rows of one partition, of which some have been read ahead."""

    def __init__(self, reader: PartitionReader) -> None:
        self._batches = iter(reader)
        self._left: pa.RecordBatch | None = None

    def refill(self) -> bool:
        while self._left is None or not self._left.num_rows:
            self._left = next(self._batches, None)
            if self._left is None:
                return False
        return True

    @property
    def next_time(self) -> int:
        assert self._left is not None
        return int(longs(self._left.column("timestamp"))[0])

    def take(self, limits: PieceLimits) -> pa.RecordBatch:
        assert self._left is not None
        batch = self._left
        count = min(limits.rows, max(1, limits.size_bytes * batch.num_rows // max(1, batch.nbytes)))
        taken, self._left = batch.slice(0, count), batch.slice(count)
        return taken


def chosen_partitions(manifest: Manifest, part: Part) -> list[int]:
    if part.times.start >= part.times.end:
        raise Unfit("--from is not before --to")
    known = sorted(manifest.next_offsets)
    for index in part.partitions or ():
        if index not in known:
            raise Missing(f"the archive of {manifest.topic} has no partition {index}", f"it has 0 to {known[-1]}")
    return known if part.partitions is None else sorted(set(part.partitions))


def rows_of(manifest: Manifest, part: Part) -> int:
    """The number of rows: exact for whole files, an upper bound where a part of a file is selected by time."""
    wanted = chosen_partitions(manifest, part)
    files = [each for each in manifest.files.values() if part.times.overlap(each.first_ms, each.last_ms)]
    return sum(each.spans[index].rows for each in files for index in wanted if index in each.spans)
