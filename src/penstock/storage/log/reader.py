"""Reading slices of a log on disk by offset.

Everything here may run in a thread. It looks at the tuple of segments once and goes on with that: a segment that
retention or compaction takes away meanwhile stays readable through the pinned descriptor. Only a segment whose file
could not be opened any more is looked up again in the new tuple.

With `verify_on_read: first` the CRC of a region is checked when it is first served; what this process wrote or
recovered itself counts as checked. A mismatch damages the log (`log.damage`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from penstock.model.batch import BatchHeader
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.files import File
from penstock.storage.admission.status import Status
from penstock.storage.interface import LogState, ReadSlice
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.damage import DamageReporter
from penstock.storage.log.durability import Durability
from penstock.storage.log.segment_list import SegmentList, index_of_holder
from penstock.storage.log.tail import DiskTail
from penstock.storage.segment.batch_scanner import BatchScanner, CorruptBatch, ExpectedOffsets
from penstock.storage.segment.segment import EMPTY_SLICE, ReadLimits, Segment
from penstock.storage.segment.segment_index import SegmentIndex
from penstock.storage.segment.time_search import ReadBatch

_OFFLINE = LogState.OFFLINE  # looked up once: this is asked for every read


class LogReader:
    """Reads of one log. Any thread."""

    __slots__ = (
        "_cache", "_durability", "_files", "_identity", "_on_damage", "_segments", "_status", "_tail", "_verify",
    )  # fmt: skip

    def __init__(
        self,
        context: LogContext,
        identity: LogIdentity,
        segments: SegmentList,
        tail: DiskTail,
        durability: Durability,
        status: Status,
    ) -> None:
        self._files = context.files
        self._cache = context.cache
        self._verify = context.verify_on_read
        self._segments = segments
        self._tail = tail
        self._durability = durability
        self._status = status
        self._identity = identity
        self._on_damage = context.on_damage

    def read(self, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        end = self._check_readable(offset, end)
        while offset < end:
            segments = self._segments.all
            segment = segments[-1]  # where nearly every read is
            if offset < segment.base_offset:
                segment = segments[index_of_holder(segments, offset)]
            limits = ReadLimits(max_bytes, end, self._end_position(segments, segment, end), one_batch_at_least, wait)
            try:
                found = self._read_segment(segment, offset, limits)
            except FileNotFoundError:
                if segment in self._segments.all:
                    raise self.damaged(segment, 0, segment.base_offset, "its file is gone") from None
                self._check_readable(offset, end)  # retention or compaction was faster
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
        """Raise KafkaError if `offset` may not be read; otherwise return the offset up to which reading may go."""
        status, log_end = self._status, self._tail.log_end
        log_start, readable_end = status.log_start, status.readable_end
        if status.state is _OFFLINE:
            status.check_not_offline()
        if offset > readable_end:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the log is damaged at offset {readable_end}")
        if not log_start <= offset <= log_end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} of [{log_start}, {log_end}]")
        if offset == readable_end < min(end, log_end):
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the log is damaged at offset {readable_end}")
        return end if end < readable_end else readable_end

    def _end_position(self, segments: tuple[Segment, ...], segment: Segment, end: int) -> int:
        """Where the last batch below offset `end` ends in the segment; -1 if finding that takes a search.

        Known for sealed segments that are read to their end and, which is the case of every reader that has caught
        up, for the visible end of the active one.
        """
        if segment is not segments[-1] and end >= segment.end_offset:
            return segment.size
        mark_end, base_offset, position = self._durability.reading_mark
        return position if mark_end == end and base_offset == segment.base_offset else -1

    def _read_segment(self, segment: Segment, offset: int, limits: ReadLimits) -> ReadSlice | None:
        file = self._cache.acquire(segment.path)
        try:
            index = segment.index
            if segment.needs_index(offset, limits):
                index = self.load_index(segment, file, limits.wait)
            return segment.read(file, index, offset, limits, self._verify)
        except CorruptBatch as error:
            failure = self.damaged(segment, error.position, error.offset, error.reason)
            if not offset < self._status.readable_end < limits.end:
                raise failure from None
        except OSError as error:
            if isinstance(error, BlockingIOError):
                raise
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{segment.path.name}: {error}") from error
        finally:
            self._cache.release(file)
        # Batches before the damage are served; the next read, which begins at the damage, gets the error.
        below_damage = limits._replace(end=self._status.readable_end, end_position=-1)
        return self._read_segment(segment, offset, below_damage)

    def damaged(self, segment: Segment, position: int, offset: int, reason: str) -> KafkaError:
        """Report a batch that is not as it was written; returns the error to raise."""
        reporter = DamageReporter(self._identity, self._segments, self._status, self._on_damage)
        return reporter.found(segment, position, offset, reason)

    def load_index(self, segment: Segment, file: File, wait: bool) -> SegmentIndex:
        """The segment's index, whole. Go on with this one: the event loop may give the segment another at any time."""
        index = segment.index
        if not index.is_whole:
            if not wait:
                raise BlockingIOError
            segment.load_index(index, self._files, file, self._status.config.index_interval_bytes)
        return index

    def batches(self, segment: Segment, offset: int) -> Iterator[tuple[BatchHeader, ReadBatch]]:
        """Headers from the batch that holds `offset` on, each with a way to its bytes. Waits for the disk."""
        file = self._cache.acquire(segment.path)
        try:
            index = self.load_index(segment, file, wait=True)
            position = index.floor(offset)
            indexed = index.offset_at(position)
            scanner = BatchScanner(
                file,
                position,
                segment.size,
                ExpectedOffsets(segment.base_offset if indexed is None else indexed, segment.has_holes),
                verify=self._verify != "off" and not segment.verified.covers(position, segment.size),
            )
            for position, header in scanner:
                if header.last_offset >= offset:
                    yield header, partial(file.pread, header.size_bytes, position)
            scanner.check_end()
        except CorruptBatch as error:
            raise self.damaged(segment, error.position, error.offset, error.reason) from None
        finally:
            self._cache.release(file)

    def offset_before_time(self, segment: Segment, timestamp_ms: int) -> int:
        """An offset below which no timestamp of the segment reaches `timestamp_ms`. Waits for the disk."""
        file = self._cache.acquire(segment.path)
        try:
            return self.load_index(segment, file, wait=True).floor_time(timestamp_ms)
        except CorruptBatch as error:
            raise self.damaged(segment, error.position, error.offset, error.reason) from None
        finally:
            self._cache.release(file)
