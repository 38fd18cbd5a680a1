"""Finding records of a log on disk by time. May run in a thread; waits for the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from penstock.model.batch import BatchHeader
from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage.admission.status import Status
from penstock.storage.interface import Scan, TimestampOffset
from penstock.storage.log.reader import LogReader
from penstock.storage.log.segment_list import SegmentList
from penstock.storage.segment.segment import Segment
from penstock.storage.segment.time_search import (
    Range,
    ReadBatch,
    TimedSegment,
    find_max_timestamp,
    find_timestamp,
    scan_here,
)


class TimeLookup:
    """Implements `segment.time_search.TimedLog` over the segments of one log."""

    __slots__ = ("_reader", "_segments", "_status")

    def __init__(self, segments: SegmentList, status: Status, reader: LogReader) -> None:
        self._segments = segments
        self._status = status
        self._reader = reader

    def find_timestamp(self, timestamp_ms: int, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return self._searched(lambda: find_timestamp(self, timestamp_ms, self._visible(end), scan))

    def find_max_timestamp(self, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return self._searched(lambda: find_max_timestamp(self, self._visible(end), scan))

    def _searched(self, search: Callable[[], TimestampOffset | None]) -> TimestampOffset | None:
        """Search again if retention or compaction took a segment away before it could be opened."""
        while True:
            segments = self._segments.all
            try:
                return search()
            except FileNotFoundError as error:
                if segments is self._segments.all:
                    raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None

    def _visible(self, end: int) -> Range:
        self._status.check_not_offline()
        return Range(self._status.log_start, min(end, self._status.readable_end))

    def timed_segments(self) -> Sequence[TimedSegment]:
        return self._segments.all

    def offset_before_time(self, segment: TimedSegment, timestamp_ms: int) -> int:
        assert isinstance(segment, Segment)
        return self._reader.offset_before_time(segment, timestamp_ms)

    def batches(self, segment: TimedSegment, offset: int) -> Iterator[tuple[BatchHeader, ReadBatch]]:
        assert isinstance(segment, Segment)
        return self._reader.batches(segment, offset)
