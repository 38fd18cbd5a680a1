"""`penstock archive` without its screen: the new records of a topic become Parquet files, each record once.

A run consists of steps. A step writes files under temporary names, then commits: it replaces the manifest, which names
the files, the offsets behind them and the pending renames; then it does the renames. A run that dies before the commit
leaves files that the next run removes; after it, renames that the next run does.

To keep files few and large, each date has at most one small file: later rows are written together with its rows into a
new file, which takes its name. A rename replaces one file by the other atomically, so that a reader of the directory
sees each row exactly once at any moment.
"""

from __future__ import annotations

import fcntl
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from penstock.bulk.errors import BulkError, Changed
from penstock.bulk.topics import KnownTopic
from penstock.client.cluster import Cluster
from penstock.client.offsets import bounds
from penstock.client.security.properties import PLAINTEXT, ClientSecurity
from penstock.model.topic_partition import TopicPartition
from penstock_spark.bulk.manifest import ArchiveFile, Manifest, ManifestFile, committed, new_manifest, sync_directory
from penstock_spark.bulk.merge import merge
from penstock_spark.bulk.pieces import PieceTask, Range, new_path
from penstock_spark.reading.planning.admission import limited

LARGE_ENOUGH = 0.75  # of the wanted size: such a file is not merged any more
FIRST_STEP_ROWS = 200_000

Execute = Callable[[PieceTask, Sequence[Range]], list[ArchiveFile]]
"""Writes files of these ranges, in one process or in many."""


@dataclass(frozen=True)
class ArchiveSettings:
    bootstrap: str
    file_bytes: int = 128 << 20
    step_bytes: int = 512 << 20
    compression: str = "zstd"
    tolerant: bool = False
    """Whether records that were removed from the topic before they were archived are skipped."""
    step_rows_max: int = 1 << 62
    security: ClientSecurity = PLAINTEXT


class Step(NamedTuple):
    """A commit that was made."""

    rows: int
    offsets: int
    files: int
    size_bytes: int


class Archive:
    """One topic in one directory. A run holds the lock: see `locked`."""

    def __init__(self, root: Path, topic: KnownTopic, settings: ArchiveSettings) -> None:
        self._file = ManifestFile(root, topic.name)
        self._root, self._topic, self._settings = root, topic, settings
        self.manifest = new_manifest(topic)
        self._ends: dict[TopicPartition, int] = {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Take the lock, and finish or remove the leftovers of a run that died."""
        self._file.temporary.mkdir(parents=True, exist_ok=True)
        with self._file.lock.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BulkError(f"another run archives {self._topic.name} into {self._root}", "wait for it") from None
            self._recover()
            yield

    def _recover(self) -> None:
        found = self._file.load()
        if found is not None:
            self._check_same(found)
            self._file.settle(found)
            self.manifest = found
        for left in self._file.temporary.iterdir():
            left.unlink()

    def _check_same(self, found: Manifest) -> None:
        if (found.topic_id, found.cluster_id) != (self._topic.topic_id, self._topic.cluster_id):
            what = "was created again" if found.cluster_id == self._topic.cluster_id else "is on another cluster"
            hint = "archive into another directory"
            raise Changed(f"topic {self._topic.name} {what} since {self._root} was begun", hint)

    # --- how much ------------------------------------------------------------------------------------------------

    def plan(self, cluster: Cluster) -> int:
        """The offsets to archive, up to the last committed record."""
        places = [TopicPartition(self._topic.name, index) for index in range(self._topic.partition_count)]
        next_offsets = dict(self.manifest.next_offsets)
        for place, (start, end) in bounds(cluster, places, committed=True).items():
            begun = next_offsets.get(place.partition)
            if begun is not None and begun > end:
                raise Changed(f"{place} ends at {end}, and was archived up to {begun}: it has lost records")
            if begun is not None and begun < start and not self._settings.tolerant:
                hint = "go on with what is left: --skip-missing"
                raise Changed(f"{place} begins at {start} now: records from {begun} on were removed unarchived", hint)
            next_offsets[place.partition] = start if begun is None else max(start, begun)
            self._ends[place] = end
        is_new = not self.manifest.next_offsets
        self.manifest = committed(self.manifest, {}, next_offsets=next_offsets)
        if is_new:
            self._file.save(self.manifest)  # so that an empty archive is an archive, too
        return sum(offset - next_offsets[place.partition] for place, offset in self._ends.items())

    def steps(self, execute: Execute) -> Iterator[Step]:
        settings = self._settings
        task = PieceTask(
            settings.bootstrap,
            self._topic.name,
            str(self._file.temporary),
            settings.file_bytes,
            settings.compression,
            settings.tolerant,
            security=settings.security,
        )
        rows_most = min(FIRST_STEP_ROWS, settings.step_rows_max)
        while ranges := self._ranges(rows_most):
            step = self._commit(execute(task, ranges), ranges)
            yield step
            if step.rows:
                rows_most = max(1, int(settings.step_bytes / max(1.0, step.size_bytes / step.rows)))
                rows_most = min(rows_most, settings.step_rows_max)

    def _ranges(self, most: int) -> list[Range]:
        starts = {place: self.manifest.next_offsets[place.partition] for place in self._ends}
        ends = limited(starts, self._ends, most)
        return [
            Range(place.partition, starts[place], end) for place, end in sorted(ends.items()) if end > starts[place]
        ]

    # --- committing ----------------------------------------------------------------------------------------------

    def _commit(self, pieces: Sequence[ArchiveFile], ranges: Sequence[Range]) -> Step:
        by_date: dict[str, list[ArchiveFile]] = defaultdict(list)
        for piece in pieces:
            by_date[piece.date].append(piece)
        files: dict[str, ArchiveFile] = {}
        pending = []
        for date, found in sorted(by_date.items()):
            for path, written in self._placed(date, found):
                name = os.path.relpath(written.path, self._root)
                pending.append((name, path))
                files[path] = replace(written, path=path)
        next_offsets = self.manifest.next_offsets | {each.partition: each.end for each in ranges}
        self.manifest = committed(self.manifest, files, next_offsets=next_offsets, pending=tuple(pending))
        sync_directory(self._file.temporary)  # files are durable before the manifest names them
        self._file.save(self.manifest)
        self._file.settle(self.manifest)
        for left in self._file.temporary.iterdir():  # pieces that were merged
            left.unlink()
        rows, size = sum(each.rows for each in pieces), sum(each.size_bytes for each in pieces)
        return Step(rows, sum(each.end - each.first for each in ranges), len(files), size)

    def _placed(self, date: str, pieces: Sequence[ArchiveFile]) -> Iterator[tuple[str, ArchiveFile]]:
        """The target of each file: large ones get new names, small ones are merged and replace the small one."""
        enough = self._settings.file_bytes * LARGE_ENOUGH
        folder = f"topic={self._topic.name}/date={date}"
        there = [each for each in self.manifest.files.values() if each.date == date]
        number = len(there)
        small = []
        for piece in pieces:
            if piece.size_bytes < enough:
                small.append(piece)
                continue
            yield f"{folder}/part-{number:05}.parquet", piece
            number += 1
        if not small:
            return
        open_file = next((each for each in reversed(there) if each.size_bytes < enough), None)
        if open_file is None and len(small) == 1:
            yield f"{folder}/part-{number:05}.parquet", small[0]
            return
        inputs = [Path(each.path) for each in small]
        if open_file is not None:
            inputs.insert(0, self._root / open_file.path)
        merged = merge(inputs, new_path(self._file.temporary), date, self._settings.compression)
        yield (f"{folder}/part-{number:05}.parquet" if open_file is None else open_file.path), merged
