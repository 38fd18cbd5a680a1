"""Encoder of rows as record batches, ready for the wire except for the producer's identity and the checksum.

Rows are gathered into large chunks, sorted by partition without changing their order, and encoded by a compiled loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.model.batch import HEADER_BYTES, LOG_OVERHEAD_BYTES, BatchHeader, write_header
from penstock.model.compression import compress
from penstock.model.topic_partition import TopicPartition
from penstock_spark.arrays import Bytes, Longs, nulls, sealed_binary
from penstock_spark.errors import BadRow
from penstock_spark.writing.batch_limits import USUAL, BatchLimits
from penstock_spark.writing.encoding.kernels import encode, partitions_of
from penstock_spark.writing.encoding.outgoing import Outgoing

CHUNK_ROWS, CHUNK_BYTES = 65_536, 8 << 20

Counts = Callable[[Iterable[str]], dict[str, int]]
"""Returns the number of partitions of a topic."""


class Encoded(NamedTuple):
    place: TopicPartition
    batch: bytearray
    rows: int
    payload: memoryview
    """The records before compression; valid until the next batch is made."""


def chunks(batches: Iterable[pa.RecordBatch], linger_s: float | None = None) -> Iterator[pa.RecordBatch]:
    """The same rows in larger batches, which make fewer and fuller record batches.

    Rows that have waited for `linger_s` go with the next ones.
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    since = time.monotonic()
    for batch in batches:
        since = since if waiting else time.monotonic()
        is_late = linger_s is not None and time.monotonic() - since >= linger_s
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= CHUNK_ROWS or size >= CHUNK_BYTES or is_late:
            yield from _together(waiting)
            waiting, rows, size = [], 0, 0
    yield from _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if len(batches) == 1:
        yield batches[0]
    elif batches:
        yield from pa.Table.from_batches(batches).combine_chunks().to_batches()


class Encoder:
    """Encodes rows. Rows without a key go to partition `spread` first, and one partition further with every chunk."""

    def __init__(
        self, counts: Counts, codec: int, spread: int, limits: BatchLimits = USUAL, *, ignores_keys: bool = False
    ) -> None:
        self._limits, self._ignores_keys = limits, ignores_keys
        self._counts = counts
        self._codec = codec
        self._spread = spread
        self._room: Bytes = np.empty(limits.batch_bytes, dtype=np.uint8)

    def encode(self, rows: Outgoing) -> Iterator[Encoded]:
        counts = self._counts(rows.topic_names)
        per_topic = np.array([counts[name] for name in rows.topic_names], dtype=np.int32)
        keys = sealed_binary(nulls(rows.row_count)) if self._ignores_keys else rows.key
        partitions_of(*keys, rows.topics, per_topic, self._spread, rows.partitions)
        self._spread += 1
        _check(rows, per_topic)
        now = time.time_ns() // 1_000_000
        for place, members in _by_place(rows):
            yield from self._batches(rows, place, members, now)

    def _batches(self, rows: Outgoing, place: TopicPartition, members: Longs, now: int) -> Iterator[Encoded]:
        start = 0
        while start < len(members):
            base = int(rows.times[members[start]]) if len(rows.times) else now
            taken, size = self._encode(rows, members, start, base)
            latest = int(rows.times[members[start : start + taken]].max()) if len(rows.times) else now
            self._check_size(place, taken, size)
            payload = self._room[:size].data
            yield Encoded(place, self._batch(payload, taken, base, latest), taken, payload)
            start += taken

    def _encode(self, rows: Outgoing, members: Longs, start: int, base: int) -> tuple[int, int]:
        headers = rows.headers
        while True:
            taken, size = encode(
                members, start, self._limits.batch_bytes, base, rows.times, *rows.key, *rows.value,
                headers.ends, headers.names.ends, headers.names.data, *headers.values, self._room,
            )  # fmt: skip
            if taken:
                return taken, size
            self._room = np.empty(size, dtype=np.uint8)

    def _check_size(self, place: TopicPartition, count: int, size: int) -> None:
        most = self._limits.record_bytes
        if most is not None and count == 1 and size > most:
            raise BadRow(f"a record for {place} has {size} bytes, and kafka.max.request.size is {most}")

    def _batch(self, payload: memoryview, count: int, base: int, latest: int) -> bytearray:
        body = compress(self._codec, payload)
        batch = bytearray(HEADER_BYTES + len(body))
        batch[HEADER_BYTES:] = body
        header = BatchHeader(
            base_offset=0, batch_length=len(batch) - LOG_OVERHEAD_BYTES, leader_epoch=-1, magic=2, crc=0,
            attributes=self._codec, last_offset_delta=count - 1, base_timestamp=base, max_timestamp=latest,
            producer_id=-1, producer_epoch=-1, base_sequence=-1, record_count=count,
        )  # fmt: skip
        write_header(batch, header)
        return batch


def _check(rows: Outgoing, counts: np.ndarray[tuple[int], np.dtype[np.int32]]) -> None:
    wrong = np.flatnonzero(rows.partitions >= counts[rows.topics])
    if len(wrong):
        row = wrong[0]
        name, count = rows.topic_names[rows.topics[row]], counts[rows.topics[row]]
        raise BadRow(f"the column partition has {rows.partitions[row]}, and topic {name} has {count} partitions")


def _by_place(rows: Outgoing) -> Iterator[tuple[TopicPartition, Longs]]:
    """The numbers of the rows of each partition, in their order."""
    if not rows.row_count:
        return
    width = int(rows.partitions.max()) + 1
    places = rows.topics.astype(np.int64) * width + rows.partitions
    if len(rows.topic_names) * width < 1 << 15:
        places = places.astype(np.int16)  # numpy sorts these by counting
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
    for start, members in zip(starts, np.split(order, starts[1:]), strict=True):
        topic, partition = divmod(int(ordered[start]), width)
        yield TopicPartition(rows.topic_names[topic], partition), members
