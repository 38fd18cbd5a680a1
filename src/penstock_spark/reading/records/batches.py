"""The batches of a fetch answer that count, with their records decompressed.

Left out are transaction markers, batches of aborted transactions, batches without any of the wanted offsets or times,
and a batch that is cut off at the end of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.client.fetches import Fetched
from penstock.model.aborted_filter import AbortedFilter
from penstock.model.batch import HEADER_BYTES, BatchHeader, crc_matches, iter_headers
from penstock.model.compression import decompress
from penstock.model.errors import KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock_spark.arrays import Bytes, Longs, sealed
from penstock_spark.errors import BadRow
from penstock_spark.reading.planning.spans import EVERYTHING, Span
from penstock_spark.reading.records.time_kernel import least_time_delta

UNPACKED_BYTES_MAX = 1 << 30
RECORD_BYTES_MIN = 7


class DamagedBatch(BadRow):
    """A batch that cannot be decoded, with its place."""

    def __init__(self, place: TopicPartition, offset: int, reason: str) -> None:
        super().__init__(place, offset, reason)
        self.place, self.offset, self.reason = place, offset, reason

    def __str__(self) -> str:
        return f"{self.place} at offset {self.offset}: {self.reason}"


class RecordBatch(NamedTuple):
    """A batch that counts: its header, and its records decompressed."""

    header: BatchHeader
    payload: Bytes


@dataclass(frozen=True)
class Choice:
    """Which batches are wanted: with one of the offsets `only`, in ascending order, and with a time of `within`.

    Offsets of `within` do not matter here.
    """

    only: Longs | None = None
    within: Span = EVERYTHING


class Batches:
    """The batches of one partition between two offsets, answer by answer. `position` is the next offset to fetch.

    Batches that are not chosen are left out; those without chosen offsets need not be fetched.
    """

    def __init__(self, place: TopicPartition, first: int, end: int, choice: Choice | None = None) -> None:
        self.place = place
        self.end = end
        choice = choice or Choice()
        self._only, self._within = choice.only, choice.within
        self.position = self._next(first)
        self.read_bytes = 0
        self.skipped_bytes = 0

    @property
    def is_done(self) -> bool:
        return self.position >= self.end

    def _next(self, offset: int) -> int:
        """The first wanted offset from here on."""
        if self._only is None:
            return offset
        index = int(np.searchsorted(self._only, offset))
        return int(self._only[index]) if index < len(self._only) else max(offset, self.end)

    def take(self, fetched: Fetched) -> Iterator[RecordBatch | DamagedBatch]:
        """The batches of an answer that count; a damaged one is returned as such.

        The position moves past the answer.
        """
        first = self.position
        found = [(at, header) for at, header in iter_headers(fetched.records) if header.last_offset >= first]
        if found:
            self.position = self._next(found[-1][1].next_offset)
        return self._counting(fetched, found)

    def _counting(self, fetched: Fetched, found: list[tuple[int, BatchHeader]]) -> Iterator[RecordBatch | DamagedBatch]:
        aborted = AbortedFilter(fetched.aborted)
        for at, header in found:
            if header.base_offset >= self.end:
                return
            one = self._one(fetched.records[at : at + header.size_bytes], header, aborted)
            if one is not None:
                yield one

    def _one(self, batch: memoryview, header: BatchHeader, aborted: AbortedFilter) -> RecordBatch | DamagedBatch | None:
        if aborted.leaves_out(header):
            self.skipped_bytes += len(batch)
            return None
        if self._next(header.base_offset) > header.last_offset:
            self.skipped_bytes += len(batch)
            return None
        self.read_bytes += len(batch)
        if not crc_matches(batch, 0, header):
            return DamagedBatch(self.place, header.base_offset, "its checksum is wrong")
        if self._has_other_times(header):
            self.skipped_bytes += len(batch)
            return None
        try:
            payload = decompress(header.codec, batch[HEADER_BYTES:], UNPACKED_BYTES_MAX)
        except KafkaError as error:
            return DamagedBatch(self.place, header.base_offset, str(error))
        if not 0 <= header.record_count * RECORD_BYTES_MIN <= len(payload):  # memory is allocated for this count
            reason = f"it says that it has {header.record_count} records, in {len(payload)} bytes"
            return DamagedBatch(self.place, header.base_offset, reason)
        found = RecordBatch(header, sealed(np.frombuffer(payload, dtype=np.uint8)))
        if self._is_later(found):
            self.skipped_bytes += len(batch)
            return None
        return found

    def _has_other_times(self, header: BatchHeader) -> bool:
        """Whether the header says that no record has a wanted time."""
        since, until = self._within.since_ms, self._within.until_ms
        if since is not None and header.max_timestamp < since:
            return True
        return until is not None and header.is_log_append_time and header.max_timestamp > until

    def _is_later(self, batch: RecordBatch) -> bool:
        """Whether all records have a later time than wanted: a header has the first and the latest, not the oldest."""
        until, header = self._within.until_ms, batch.header
        if until is None or header.is_log_append_time:
            return False
        delta, right = least_time_delta(batch.payload, header.record_count)
        return bool(right == header.record_count and right and header.base_timestamp + delta > until)
