"""The latest record of each key of a partition (`mode=upsert`); a key whose latest value is null is left out.

There are two passes over the range. The first reads only keys and finds the offsets that count; the second reads those,
and skips all batches without any of them. A task holds the keys of its partition once, and then eight bytes for each
live key, whatever the values are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa

from penstock.model.topic_partition import TopicPartition
from penstock_spark.arrays import Flags, Longs
from penstock_spark.errors import BadRow, DataLost
from penstock_spark.reading.options import ReadOptions
from penstock_spark.reading.tables.table import BadRows

logger = logging.getLogger(__name__)

MERGE_ROWS = 1 << 18


class Read(Protocol):
    """Reads these columns of the range; with `only`, nothing but the batches that contain one of the offsets."""

    def __call__(self, columns: tuple[str, ...], only: Longs | None = None) -> Iterable[pa.RecordBatch]: ...


class Latest:
    """Keys, and for each its last offset, doubled, plus one if there was a value.

    So the larger number is always the later one. New keys are gathered until they are as many as the known ones: then
    merging takes constant time per key, however many there are.
    """

    def __init__(self, merge_rows: int = MERGE_ROWS) -> None:
        self._merge_rows = merge_rows
        self._known = pa.table({"key": pa.array([], pa.binary()), "mark": pa.array([], pa.int64())})
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0

    def add(self, keys: pa.Array, offsets: Longs, has_value: pa.Array) -> None:
        marks = pa.array(offsets * 2 + np.asarray(has_value))
        self._waiting.append(_last(pa.table({"key": keys, "mark": marks})))
        self._waiting_rows += self._waiting[-1].num_rows
        if self._waiting_rows >= max(self._merge_rows, self._known.num_rows):
            self._merge()

    def offsets(self) -> Longs:
        """The offsets of the records that count, in ascending order."""
        self._merge()
        marks: Longs = self._known.column("mark").to_numpy()
        return np.sort(marks[marks % 2 == 1] // 2)

    def _merge(self) -> None:
        self._known = _last(pa.concat_tables([self._known, *self._waiting]))
        self._waiting, self._waiting_rows = [], 0


def _last(marks: pa.Table) -> pa.Table:
    found = marks.group_by("key", use_threads=False).aggregate([("mark", "max")])
    return pa.table({"key": found.column("key"), "mark": found.column("mark_max")})


def _among(some: Longs, offsets: Longs) -> Flags:
    """A mask of the items of `some` that are in `offsets`; both are in ascending order."""
    first, end = np.searchsorted(offsets, [some[0], some[-1] + 1]) if len(some) else (0, 0)
    return np.isin(some, offsets[first:end], assume_unique=True)


class Upsert:
    """Records of a range, each the latest of its key. Keys are compared within their partition, as compaction does."""

    def __init__(self, read: Read, options: ReadOptions, place: TopicPartition) -> None:
        self._read, self._options, self._place = read, options, place

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        wanted = self._options.columns
        offsets = self._latest()
        found = 0
        for batch in self._read(tuple(dict.fromkeys((*wanted, "offset"))), offsets):
            kept = batch.filter(pa.array(_among(batch.column("offset").to_numpy(), offsets)))
            found += kept.num_rows
            if kept.num_rows:
                yield kept.select(list(wanted))
        if found < len(offsets):
            self._vanished(len(offsets) - found)

    def _latest(self) -> Longs:
        latest, keyless = Latest(), [np.empty(0, dtype=np.int64)]
        for batch in self._read(("key", "value", "offset")):
            keys, offsets = batch.column("key"), batch.column("offset").to_numpy()
            has_value = batch.column("value").is_valid()
            if keys.null_count:
                has_key = keys.is_valid()
                without = offsets[~np.asarray(has_key)]
                self._check_keyless(int(without[0]))
                keyless.append(without)
                offsets, keys, has_value = offsets[np.asarray(has_key)], keys.filter(has_key), has_value.filter(has_key)
            latest.add(keys, offsets, has_value)
        if not self._keeps_keyless:
            return latest.offsets()
        return np.sort(np.concatenate([latest.offsets(), *keyless]))

    @property
    def _keeps_keyless(self) -> bool:
        table = self._options.table
        return table is not None and table.bad_rows is BadRows.QUARANTINE

    def _check_keyless(self, offset: int) -> None:
        table = self._options.table
        if table is None or table.bad_rows is BadRows.FAIL:
            text = "the record has no key, and mode=upsert is by key; with valueFormat, badRows=drop leaves it out"
            raise BadRow(f"{self._place} at offset {offset}: {text}")

    def _vanished(self, count: int) -> None:
        what = f"{self._place}: {count} records were removed by compaction or retention while the query ran"
        if not self._options.tolerant:
            raise DataLost(f"{what}: run it again. With failOnDataLoss=false the others are enough.")
        logger.warning("%s", what)
