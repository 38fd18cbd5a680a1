"""One task of an archive, with or without Spark: from ranges of a topic to sorted files, one date each."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.bulk.errors import Changed, Damaged
from penstock.client.address import parse_addresses
from penstock.client.cluster import Cluster
from penstock.client.security.properties import PLAINTEXT, ClientSecurity
from penstock.model.topic_partition import TopicPartition
from penstock_spark.bulk.manifest import ArchiveFile
from penstock_spark.bulk.sorted_file import COLUMNS, SortedFile, longs
from penstock_spark.errors import DataLost
from penstock_spark.reading.records.batches import DamagedBatch
from penstock_spark.reading.records.range_reader import RangeReader

US_PER_DAY = 86_400_000_000
FIRST_DAY, LAST_DAY = -25_567, 2_932_896  # 1900-01-01 and 9999-12-31
NO_DATE = "__HIVE_DEFAULT_PARTITION__"  # the name that readers of such directories take for null
WAITING_BYTES_MAX = 256 << 20

Advanced = Callable[[int], None]


class Range(NamedTuple):
    """Offsets from `first` to before `end` of one partition."""

    partition: int
    first: int
    end: int


@dataclass(frozen=True)
class PieceTask:
    """The task of a worker, as plain values that can be pickled."""

    bootstrap: str
    topic: str
    directory: str
    file_bytes: int
    compression: str
    tolerant: bool
    timeout_s: float = 60.0
    security: ClientSecurity = PLAINTEXT

    def connect(self) -> Cluster:
        addresses = parse_addresses(self.bootstrap)
        return Cluster(addresses, client_id="penstock-archive", timeout_s=self.timeout_s, security=self.security)


def write_pieces(task: PieceTask, ranges: Sequence[Range], advanced: Advanced | None = None) -> list[ArchiveFile]:
    """Write files into the task's directory, under unique names, complete and synced."""
    files = _FilesByDate(Path(task.directory), task.file_bytes, task.compression)
    with task.connect() as cluster:
        for partition, first, end in sorted(ranges):
            place = TopicPartition(task.topic, partition)
            for batch in _read(cluster, place, first, end, task.tolerant):
                for date, rows in by_date(batch):
                    files.add(date, partition, rows)
                if advanced is not None:
                    advanced(batch.num_rows)
    return files.finish()


def _read(cluster: Cluster, place: TopicPartition, first: int, end: int, tolerant: bool) -> Iterator[pa.RecordBatch]:
    try:
        yield from RangeReader(cluster, place, first, end, COLUMNS, tolerant=tolerant)
    except DataLost as error:
        raise Changed(str(error).split(". ")[0], "go on with what is left: --skip-missing") from None
    except DamagedBatch as error:
        raise Damaged(str(error), "`penstock log verify` on the broker says more") from None


def by_date(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each date (of the record's time, UTC), in their order."""
    if not batch.num_rows:
        return
    days = longs(batch.column("timestamp")) // US_PER_DAY
    if days.min() == days.max():
        yield _date(int(days[0])), batch
        return
    days = np.where((days < FIRST_DAY) | (days > LAST_DAY), FIRST_DAY - 1, days)
    for day in np.unique(days):
        yield _date(int(day)), batch.filter(pa.array(days == day))


def _date(day: int) -> str:
    """The date of a time; none if it is out of range, as with microseconds in place of milliseconds."""
    if not FIRST_DAY <= day <= LAST_DAY:
        return NO_DATE
    return datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m-%d")


class _FilesByDate:
    """The open file of each date, and the files that are complete."""

    def __init__(self, directory: Path, file_bytes: int, compression: str) -> None:
        self._directory, self._file_bytes, self._compression = directory, file_bytes, compression
        self._open: dict[str, SortedFile] = {}
        self._complete: list[ArchiveFile] = []

    def add(self, date: str, partition: int, rows: pa.RecordBatch) -> None:
        file = self._open.get(date)
        if file is None:
            file = self._open[date] = SortedFile(new_path(self._directory), date, self._compression)
        file.add(partition, rows)
        if sum(each.waiting_bytes for each in self._open.values()) > WAITING_BYTES_MAX:
            max(self._open.values(), key=lambda each: each.waiting_bytes).flush()
        if file.size_bytes >= self._file_bytes:
            self._complete.append(self._open.pop(date).finish())

    def finish(self) -> list[ArchiveFile]:
        return self._complete + [file.finish() for _, file in sorted(self._open.items())]


def new_path(directory: Path) -> Path:
    """A unique name: several workers write into one directory."""
    return directory / f"{time.time_ns():x}-{uuid.uuid4().hex[:12]}"
