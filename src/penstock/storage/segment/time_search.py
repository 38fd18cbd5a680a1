"""Finding records by time: ListOffsets with a timestamp, and the largest timestamp of a log.

The time index narrows a search to a part of one segment; headers narrow it to one batch; only the times of that
batch are decoded, here or wherever the caller's `Scan` does it. May run in a thread. What it needs of a log is handed
in, so that the same search serves disk and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from penstock.model.batch import BatchHeader, Buffer
from penstock.model.limits import STORED_DECOMPRESSED_BYTES_MAX
from penstock.model.records import first_record_since, latest_record_from
from penstock.storage.interface import Scan, TimestampOffset

T = TypeVar("T")
ReadBatch = Callable[[], Buffer]


def scan_here(function: Callable[..., T], batch: Buffer, header: BatchHeader, *args: int) -> T:
    """Scan in this process, for callers that have one of their own."""
    return function(batch, header, *args, limit=STORED_DECOMPRESSED_BYTES_MAX)


class TimedSegment(Protocol):
    """A segment as far as times go."""

    base_offset: int
    end_offset: int
    largest_timestamp: int


class TimedLog(Protocol):
    """Segments and their batches. Batches come from the one that holds `offset` on, to the segment's end."""

    def timed_segments(self) -> Sequence[TimedSegment]: ...
    def offset_before_time(self, segment: TimedSegment, timestamp_ms: int) -> int:
        """An offset below which no timestamp of the segment reaches `timestamp_ms`."""
        ...

    def batches(self, segment: TimedSegment, offset: int) -> Iterator[tuple[BatchHeader, ReadBatch]]:
        """Headers, each with the way to the bytes of its batch."""
        ...


class Range(NamedTuple):
    """Offsets [start, end) that may be seen."""

    start: int
    end: int


def find_timestamp(log: TimedLog, timestamp_ms: int, visible: Range, scan: Scan) -> TimestampOffset | None:
    """The first visible record whose timestamp is at least `timestamp_ms`."""
    for segment in log.timed_segments():
        if segment.end_offset <= visible.start or segment.largest_timestamp < timestamp_ms:
            continue
        if segment.base_offset >= visible.end:
            return None
        offset = max(visible.start, log.offset_before_time(segment, timestamp_ms))
        for header, batch in log.batches(segment, offset):
            if header.base_offset >= visible.end:
                return None
            if header.max_timestamp >= timestamp_ms and header.record_count:
                found = scan(first_record_since, batch(), header, timestamp_ms, *visible)
                if found is not None:
                    return TimestampOffset(*found, header.leader_epoch)
    return None


def find_max_timestamp(log: TimedLog, visible: Range, scan: Scan) -> TimestampOffset | None:
    """The first visible record that has the largest timestamp of all visible ones."""
    largest = -1
    for segment in log.timed_segments():
        if segment.end_offset <= visible.start or segment.largest_timestamp <= largest:
            continue
        if segment.base_offset >= visible.end:
            break
        if visible.start <= segment.base_offset and segment.end_offset <= visible.end:
            largest = segment.largest_timestamp
        else:
            largest = max(largest, _largest_in_part(log, segment, visible, scan))
    found = find_timestamp(log, largest, visible, scan)  # without any timestamp, the first record
    if found is None and largest >= 0:
        # Compaction emptied the batch with the largest timestamp: look at every batch that has records.
        largest = max(_largest_in_part(log, segment, visible, scan) for segment in log.timed_segments())
        found = find_timestamp(log, largest, visible, scan)
    return found


def _largest_in_part(log: TimedLog, segment: TimedSegment, visible: Range, scan: Scan) -> int:
    """The largest timestamp of a segment of which not everything is visible."""
    largest = -1
    for header, batch in log.batches(segment, max(visible.start, segment.base_offset)):
        if header.base_offset >= visible.end:
            break
        if header.base_offset < visible.start:
            largest = max(largest, scan(latest_record_from, batch(), header, visible.start))
        elif header.record_count:
            largest = max(largest, header.max_timestamp)
    return largest
