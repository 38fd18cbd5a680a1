"""One partition's records in memory: the rules of the log on disk without its files.

"Flushed" means that the event loop has come round once: whoever waits for a flush is called as it would be after a
sync, never from inside `append`. Owned by `memory.engine`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from penstock.model.batch import CONTROL_BIT, BatchHeader, read_header, stamp, stamp_log_append_time
from penstock.model.control_record import Marker, build_marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.interface import (
    AbortedTransaction,
    Appended,
    LogConfig,
    LogState,
    OpenTransaction,
    ProducerView,
    ReadSlice,
    Scan,
    TimestampOffset,
)
from penstock.storage.log.append_rules import check_batch_fits, must_roll
from penstock.storage.log.epochs import Epochs
from penstock.storage.log.producer_state import Producers
from penstock.storage.log.replica_append import check_mirrored, marker_in
from penstock.storage.memory.budget import MemoryBudget
from penstock.storage.memory.segment import SEGMENT_BYTES_MAX, MemorySegment
from penstock.storage.retention import count_expired
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.aborted_search import search
from penstock.storage.segment.segment import EMPTY_SLICE
from penstock.storage.segment.time_search import (
    Range,
    ReadBatch,
    TimedSegment,
    find_max_timestamp,
    find_timestamp,
    scan_here,
)

_base_offset = attrgetter("base_offset")


class MemoryLog:
    """Implements `storage.interface.Log`. The tuple of segments is replaced, never changed: threads read it."""

    __slots__ = (
        "_budget", "_config", "_epoch", "_epochs", "_mark", "_producers",
        "first_dirty", "flushed", "last_stable", "log_end", "log_start", "partition", "segments", "size_bytes", "state",
        "topic",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        partition: PartitionId,
        config: LogConfig,
        leader_epoch: int,
        budget: MemoryBudget,
        mark: Callable[[MemoryLog], None],
    ) -> None:
        """`mark` asks for `show_all` to be called soon: what was appended becomes visible then."""
        self.topic = topic
        self.partition = partition
        self.state = LogState.ONLINE
        self.log_start = self.last_stable = self.flushed = self.log_end = 0
        self.first_dirty = 0  # compaction has compared everything below
        self.size_bytes = 0
        self.segments: tuple[MemorySegment, ...] = ()
        self._config = config
        self._budget = budget
        self._mark = mark
        self._producers = Producers()
        self._epochs = Epochs()
        self.begin_epoch(leader_epoch)

    @property
    def config(self) -> LogConfig:
        return self._config

    def set_config(self, config: LogConfig) -> None:
        self._config = config

    @property
    def segment_count(self) -> int:
        return len(self.segments)

    def begin_epoch(self, leader_epoch: int) -> None:
        self._epoch = leader_epoch
        self._epochs.begin(leader_epoch, self.log_end)

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        return self._epochs.end_of(leader_epoch, self.flushed)

    def epoch_at(self, offset: int) -> int:
        return self._epochs.at(offset)

    def producers(self) -> Sequence[ProducerView]:
        return self._producers.views()

    def producer(self, producer_id: int) -> ProducerView | None:
        return self._producers.view(producer_id)

    def find_sequence(self, producer_id: int, sequence: int) -> tuple[int, int] | None:
        return self._producers.find_sequence(producer_id, sequence)

    def open_transactions(self) -> list[OpenTransaction]:
        return self._producers.open_transactions()

    def producer_last_offsets(self) -> dict[int, int]:
        return self._producers.last_offsets()

    # --- append ----------------------------------------------------------------------------------------

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        if not self._budget.accepts_writes:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "storage.memory_bytes_max is reached")
        return self.append_trusted(batch, header, now_ms)

    def append_trusted(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        self._check_online()
        config = self._config
        size = len(batch)
        check_batch_fits(config, header, size, now_ms)
        is_idempotent = header.producer_id >= 0 and not header.attributes & CONTROL_BIT
        if is_idempotent:
            seen = self._producers.check(header)
            if seen is not None:
                return Appended(seen.base_offset, seen.last_offset, seen.append_time_ms, True)
        base_offset = self.log_end
        last_offset = base_offset + header.last_offset_delta
        timestamp, append_time_ms = header.max_timestamp, -1
        if config.log_append_time:
            timestamp = append_time_ms = now_ms
            stamp_log_append_time(batch, header.attributes, now_ms)
        stamp(batch, base_offset, self._epoch)
        self._segment_for_append(size, timestamp, last_offset).add(batch, last_offset, timestamp)
        self.log_end = last_offset + 1
        self._resize(size)
        if is_idempotent:
            self._producers.note(header, base_offset, append_time_ms, now_ms)
        self._mark(self)
        return Appended(base_offset, last_offset, append_time_ms, False)

    def append_mirrored(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        check_mirrored(self.state, self.log_end, header, accepts_writes=self._budget.accepts_writes)
        marker = marker_in(batch, header)
        last_offset, size = header.last_offset, len(batch)
        segment = self._segment_for_append(size, header.max_timestamp, last_offset)
        segment.add(batch, last_offset, header.max_timestamp)
        self.log_end = last_offset + 1
        self._resize(size)
        self._epochs.begin(header.leader_epoch, header.base_offset)
        aborted = self._producers.replay(header, marker, now_ms)
        if aborted is not None:
            segment.note_aborted(aborted)
        self._mark(self)

    def restart_at(self, offset: int) -> None:
        """Forget everything and go on at `offset`."""
        self._producers = Producers()
        self._epochs.cut_front(offset)
        self.segments = ()
        self._resize(-self.size_bytes)
        self.log_start = self.log_end = self.flushed = self.last_stable = self.first_dirty = offset

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        self._producers.check_marker(marker)
        batch = build_marker(marker, now_ms)
        appended = self.append_trusted(batch, read_header(batch), now_ms)
        aborted = self._producers.note_marker(marker, appended.base_offset, now_ms, now_ms)
        if aborted is not None:
            self.segments[-1].note_aborted(aborted)
        return appended

    def _segment_for_append(self, size: int, timestamp: int, last_offset: int) -> MemorySegment:
        if not self.segments:
            self.roll()
        active = self.segments[-1]
        is_full = active.size > 0 and active.size + size > SEGMENT_BYTES_MAX
        if is_full or must_roll(self._config, active, size, timestamp, last_offset):
            self.roll()
        return self.segments[-1]

    def roll(self) -> None:
        """Begin a new segment at the end of the log."""
        if self.segments:
            self.segments[-1].seal()
        self.segments = (*self.segments, MemorySegment(self.log_end))

    def _check_online(self) -> None:
        if self.state is not LogState.ONLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log was removed")

    def _resize(self, change: int) -> None:
        self.size_bytes += change
        if change > 0:
            self._budget.take(change)
        else:
            self._budget.give_back(-change)

    def show_all(self) -> None:
        """What a flush does."""
        self.flushed = self.log_end
        self.last_stable = max(self._producers.transactions.stable_end(self.flushed), self.log_start)

    # --- read ------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        self._check_online()
        if not self.log_start <= offset <= self.log_end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} of [{self.log_start}, {self.log_end}]")
        if offset >= end:
            return EMPTY_SLICE
        segments = self.segments
        for segment in segments[max(0, bisect_right(segments, offset, key=_base_offset) - 1) :]:
            found = segment.read(offset, max_bytes, end, one_batch_at_least)
            if found is not None:  # if it is, compaction left nothing up to the next segment
                if segment.last_offsets[-1] < found.next_offset < end:
                    return found._replace(has_next=True)
                return found
        return EMPTY_SLICE

    def aborted_transactions(self, start: int, end: int, *, wait: bool) -> list[AbortedTransaction]:
        return [AbortedTransaction(*entry[:2]) for entry in self.aborted_entries(start, end)]

    def aborted_entries(self, start: int, end: int) -> Iterator[AbortedEntry]:
        """As `aborted_transactions`, with all that is known of them."""
        segments = self.segments
        first = max(0, bisect_right(segments, start, key=_base_offset) - 1)
        return search(segments, first, start, end, lambda segment, index: None)

    def find_timestamp(self, timestamp_ms: int, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return find_timestamp(self, timestamp_ms, Range(self.log_start, end), scan)

    def find_max_timestamp(self, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return find_max_timestamp(self, Range(self.log_start, end), scan)

    def timed_segments(self) -> Sequence[TimedSegment]:
        return self.segments

    def offset_before_time(self, segment: TimedSegment, timestamp_ms: int) -> int:
        return segment.base_offset

    def batches(self, segment: TimedSegment, offset: int) -> Iterator[tuple[BatchHeader, ReadBatch]]:
        assert isinstance(segment, MemorySegment)
        return segment.lazy_batches(offset)

    # --- forgetting ------------------------------------------------------------------------------------

    def save_log_start(self, before: int) -> None:
        """There is no disk."""

    def delete_records(self, before: int, *, saved: bool = False) -> None:
        """Unlike on disk, what lies wholly below goes at once."""
        self._check_online()
        if before > self.flushed:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {before} is above the visible end, {self.flushed}")
        if before > self.log_start:
            count = sum(segment.end_offset <= before for segment in self.segments[:-1])
            self._drop_front(count, before)

    def run_retention(self, now_ms: int) -> int:
        """Forget expired segments, and producers; returns how many segments."""
        self._producers.expire(now_ms)
        segments = self.segments
        count = count_expired(segments, self._config, log_start=self.log_start, flushed=self.flushed, now_ms=now_ms)
        if count:
            if count == len(segments):
                self.roll()
            self._drop_front(count, segments[count - 1].end_offset)
        return count

    def _drop_front(self, count: int, log_start: int) -> None:
        self.log_start = max(self.log_start, log_start)
        self.last_stable = max(self.last_stable, self.log_start)
        self._epochs.cut_front(self.log_start)
        freed = sum(segment.size for segment in self.segments[:count])
        self.segments = self.segments[count:]
        self._resize(-freed)

    def put_cleaned(self, segment: MemorySegment, cleaned: MemorySegment) -> None:
        """What compaction left of a sealed segment takes its place, and joins the one before it if there is room."""
        if segment not in self.segments:
            return  # retention was faster
        at = self.segments.index(segment)
        before, after = self.segments[:at], self.segments[at + 1 :]
        if before and (before[-1].size == 0 or before[-1].size + cleaned.size <= self._merged_bytes_max()):
            cleaned = before[-1].joined(cleaned)
            before = before[:-1]
        change = cleaned.size - sum(old.size for old in self.segments[len(before) : at + 1])
        self.segments = (*before, cleaned, *after)
        self._resize(change)

    def _merged_bytes_max(self) -> int:
        return min(SEGMENT_BYTES_MAX, self._config.segment_bytes)

    def remove(self) -> None:
        """The topic was deleted. Readers that are in it keep what they have."""
        self.state = LogState.OFFLINE
        self.segments = ()
        self._resize(-self.size_bytes)
