"""The reading half of a log on disk: slices by offset, records by time, and what happens when bytes are wrong.

Everything here may run in a thread. It looks at the tuple of segments once and goes on with that: a segment
that retention or compaction takes away meanwhile stays readable through the pinned descriptor.

With `verify_on_read: first` the CRC of a region is checked when it is first served; what this process wrote
or recovered itself counts as checked. A mismatch damages the log: nothing from there on is served, nothing
is written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.flush.flushable import FileCache
from penstock.storage.interface import AbortedTransaction, LogConfig, LogState, ReadSlice, Scan, TimestampOffset
from penstock.storage.segment import aborted_search
from penstock.storage.segment.aborted_index import AbortedEntry, AbortedIndex
from penstock.storage.segment.batch_scanner import BatchScanner, CorruptBatch
from penstock.storage.segment.segment import EMPTY_SLICE, ReadLimits, Segment
from penstock.storage.segment.segment_index import SegmentIndex
from penstock.storage.segment.time_search import (
    Range,
    ReadBatch,
    TimedSegment,
    find_max_timestamp,
    find_timestamp,
    scan_here,
)

OnDamage = Callable[["LogReader", int, str], None]
_base_offset = attrgetter("base_offset")


class LogReader:
    """What `DiskLog` is to those who only read. The fields belong to `DiskLog`."""

    __slots__ = (
        "_cache", "_config", "_files", "_flush_mark", "_segments", "_verify",
        "directory", "log_end", "log_start", "on_damage", "readable_end", "state",
    )  # fmt: skip

    _cache: FileCache
    _config: LogConfig
    _files: Files
    _flush_mark: tuple[int, int, int]
    _segments: tuple[Segment, ...]
    _verify: str
    directory: Path
    log_end: int
    log_start: int
    on_damage: OnDamage | None
    readable_end: int
    state: LogState

    def read(self, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        end = self._check_readable(offset, end)
        while offset < end:
            segments = self._segments
            segment = self._holder(segments, offset)
            limits = ReadLimits(max_bytes, end, self._end_position(segments, segment, end), one_batch_at_least, wait)
            try:
                found = self._read_segment(segment, offset, limits)
            except FileNotFoundError:
                if segment in self._segments:
                    raise self.damaged(segment, 0, segment.base_offset, "its file is gone") from None
                self._check_readable(offset, end)  # retention was faster
                continue
            if found is not None:
                if segment.end_offset <= found.next_offset < end:
                    return found._replace(has_next=True)
                return found
            offset = segment.end_offset  # compaction left nothing up to the next segment
            if segment is segments[-1]:
                break
        return EMPTY_SLICE

    def _check_readable(self, offset: int, end: int) -> int:
        """Whether `offset` may be read; the offset up to which."""
        if self.state is LogState.OFFLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log is offline")
        if offset > self.readable_end:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the log is damaged at offset {self.readable_end}")
        if not self.log_start <= offset <= self.log_end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} of [{self.log_start}, {self.log_end}]")
        if offset == self.readable_end < min(end, self.log_end):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the log is damaged at offset {self.readable_end}")
        return min(end, self.readable_end)

    @staticmethod
    def _holder(segments: tuple[Segment, ...], offset: int) -> Segment:
        """The last segment that begins at or before `offset`; the first one if none does."""
        active = segments[-1]
        if offset >= active.base_offset:
            return active
        return segments[max(0, bisect_right(segments, offset, key=_base_offset) - 1)]

    def _end_position(self, segments: tuple[Segment, ...], segment: Segment, end: int) -> int:
        """Where the last batch below offset `end` ends in the segment; -1 if that takes looking."""
        if segment is not segments[-1] and end >= segment.end_offset:
            return segment.size
        flushed, base_offset, position = self._flush_mark
        return position if flushed == end and base_offset == segment.base_offset else -1

    def _read_segment(self, segment: Segment, offset: int, limits: ReadLimits) -> ReadSlice | None:
        file = self._cache.acquire(segment.path)
        try:
            index = segment.index
            if segment.needs_index(offset, limits):
                index = self._load_index(segment, file, limits.wait)
            return segment.read(file, index, offset, limits, self._verify)
        except CorruptBatch as error:
            failure = self.damaged(segment, error.position, error.offset, error.reason)
            if not offset < self.readable_end < limits.end:
                raise failure from None
        except OSError as error:
            if isinstance(error, BlockingIOError):
                raise
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{segment.path.name}: {error}") from error
        finally:
            self._cache.release(file)
        # What lies before the damage is served; whoever goes on from there is told.
        return self._read_segment(segment, offset, limits._replace(end=self.readable_end, end_position=-1))

    def _load_index(self, segment: Segment, file: File, wait: bool) -> SegmentIndex:
        """The segment's index, whole. The event loop may give the segment another one at any time: use this one."""
        index = segment.index
        if not index.is_whole:
            if not wait:
                raise BlockingIOError
            segment.load_index(index, self._files, file, self._config.index_interval_bytes)
        return index

    def damaged(self, segment: Segment, position: int, offset: int, reason: str) -> KafkaError:
        """Bytes are not what was written: no more writes, no reads from there on. Returns what to raise."""
        if segment in self._segments and self.state is not LogState.OFFLINE:
            self.state = LogState.DAMAGED
            readable_end = offset if segment.base_offset <= offset <= segment.end_offset else segment.base_offset
            self.readable_end = min(self.readable_end, readable_end)
            if self.on_damage is not None:
                self.on_damage(self, position, f"{segment.path.name}: {reason}")
        return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{segment.path.name}: {reason} at byte {position}")

    # --- aborted transactions --------------------------------------------------------------------------

    def aborted_transactions(self, start: int, end: int, *, wait: bool) -> list[AbortedTransaction]:
        return [AbortedTransaction(*entry[:2]) for entry in self.aborted_entries(start, end, wait=wait)]

    def aborted_entries(self, start: int, end: int, *, wait: bool) -> list[AbortedEntry]:
        """As `aborted_transactions`, with all that is known of them."""
        while True:
            segments = self._segments
            first = max(0, bisect_right(segments, start, key=_base_offset) - 1)
            make_whole = partial(self.load_aborted, segments) if wait else _would_wait
            try:
                return list(aborted_search.search(segments, first, start, end, make_whole))
            except FileNotFoundError as error:  # retention or compaction was faster, or the file is gone
                if segments is self._segments:
                    raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None

    def load_aborted(self, segments: tuple[Segment, ...], segment: Segment, index: AbortedIndex) -> None:
        """Any thread. Make a segment's index whole, from its file or, if that is lost, from the batches."""
        if index.is_whole:
            return
        try:
            data = self._files.read_bytes(layout.aborted_index_path(self.directory, segment.base_offset))
            if index.take_file(data):
                return
        except OSError:
            pass
        index.take(aborted_search.rebuild(segments[: segments.index(segment) + 1], self._transactional_batches))

    def _transactional_batches(self, segment: Segment) -> Iterator[tuple[BatchHeader, Marker | None]]:
        """Up to where they stop making sense: what lies behind that is not served."""
        file = self._cache.acquire(segment.path)
        try:
            scanner = BatchScanner(file, 0, segment.size, min_offset=segment.base_offset, verify=False)
            yield from aborted_search.transactional(scanner)
        finally:
            self._cache.release(file)

    # --- by time ---------------------------------------------------------------------------------------

    def find_timestamp(self, timestamp_ms: int, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return self._searched(lambda: find_timestamp(self, timestamp_ms, self._visible(end), scan))

    def find_max_timestamp(self, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return self._searched(lambda: find_max_timestamp(self, self._visible(end), scan))

    def _searched(self, search: Callable[[], TimestampOffset | None]) -> TimestampOffset | None:
        """Search again if retention or compaction took a segment away before it could be opened."""
        while True:
            segments = self._segments
            try:
                return search()
            except FileNotFoundError as error:
                if segments is self._segments:
                    raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None

    def _visible(self, end: int) -> Range:
        if self.state is LogState.OFFLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log is offline")
        return Range(self.log_start, min(end, self.readable_end))

    def timed_segments(self) -> Sequence[TimedSegment]:
        return self._segments

    def offset_before_time(self, segment: TimedSegment, timestamp_ms: int) -> int:
        assert isinstance(segment, Segment)
        file = self._cache.acquire(segment.path)
        try:
            return self._load_index(segment, file, wait=True).floor_time(timestamp_ms)
        except CorruptBatch as error:
            raise self.damaged(segment, error.position, error.offset, error.reason) from None
        finally:
            self._cache.release(file)

    def batches(self, segment: TimedSegment, offset: int) -> Iterator[tuple[BatchHeader, ReadBatch]]:
        assert isinstance(segment, Segment)
        file = self._cache.acquire(segment.path)
        try:
            index = self._load_index(segment, file, wait=True)
            position = index.floor(offset)
            indexed = index.offset_at(position)
            scanner = BatchScanner(
                file,
                position,
                segment.size,
                min_offset=segment.base_offset if indexed is None else indexed,
                verify=self._verify != "off" and not segment.verified.covers(position, segment.size),
                has_holes=segment.has_holes,
            )
            for position, header in scanner:
                if header.last_offset >= offset:
                    yield header, partial(file.pread, header.size_bytes, position)
            scanner.check_end()
        except CorruptBatch as error:
            raise self.damaged(segment, error.position, error.offset, error.reason) from None
        finally:
            self._cache.release(file)


def _would_wait(segment: Segment, index: AbortedIndex) -> None:
    raise BlockingIOError
