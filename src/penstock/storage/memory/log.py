"""One partition's records in memory: the rules of the log on disk without its files.

"Flushed" means that the event loop has come round once: a waiter for a flush is called as it would be after a sync,
never from inside `append`. Appending is `admission.appender`, as on disk. Owned by `memory.engine`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from penstock.model.batch import BatchHeader
from penstock.model.control_record import Marker
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.admission.appender import Appender, Marks
from penstock.storage.admission.epochs import Epochs
from penstock.storage.admission.producer_state import Producers
from penstock.storage.admission.status import Status
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
from penstock.storage.log.aborted_search import search
from penstock.storage.log.retention import count_expired
from penstock.storage.memory.budget import MemoryBudget
from penstock.storage.memory.segment import MemorySegment
from penstock.storage.memory.tail import MemoryTail
from penstock.storage.segment.aborted_index import AbortedEntry
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
    """Implements `storage.interface.Log`."""

    __slots__ = (
        "_appender", "_epochs", "_producers", "_tail", "append", "append_trusted", "first_dirty", "partition", "status",
        "topic",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        partition: PartitionId,
        config: LogConfig,
        leader_epoch: int,
        budget: MemoryBudget,
        marks: Marks,
    ) -> None:
        """A mark asks for `show_all` to be called soon: appended records become visible then."""
        self.topic = topic
        self.partition = partition
        self.first_dirty = 0  # compaction has compared everything below
        self.status = Status(config)
        self._tail = MemoryTail(self.status, budget)
        self._producers = Producers()
        self._epochs = Epochs()
        self._appender = Appender(self._tail, self.status, self._producers, self._epochs, budget, marks, self)
        self.append = self._appender.append
        self.append_trusted = self._appender.append_trusted
        self._appender.begin_epoch(leader_epoch)

    # --- what it is ------------------------------------------------------------------------------------

    @property
    def state(self) -> LogState:
        return self.status.state

    @property
    def log_start(self) -> int:
        return self.status.log_start

    @property
    def flushed(self) -> int:
        return self.status.flushed

    @property
    def log_end(self) -> int:
        return self._tail.log_end

    @property
    def config(self) -> LogConfig:
        return self.status.config

    def set_config(self, config: LogConfig) -> None:
        self.status.config = config

    @property
    def segments(self) -> tuple[MemorySegment, ...]:
        """Oldest first; the last is the active one."""
        return self._tail.segments

    @property
    def size_bytes(self) -> int:
        return self._tail.size_bytes

    @property
    def segment_count(self) -> int:
        return len(self._tail.segments)

    def begin_epoch(self, leader_epoch: int) -> None:
        self._appender.begin_epoch(leader_epoch)

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        return self._epochs.end_of(leader_epoch, self.log_end)

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

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        return self._appender.append_marker(marker, now_ms)

    def append_mirrored(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        self._appender.append_mirrored(batch, header, now_ms)

    def roll(self) -> None:
        """Begin a new segment at the end of the log."""
        self._tail.roll()

    def restart_at(self, offset: int) -> None:
        """Forget everything and go on at `offset`."""
        self._producers.forget_all()
        self._epochs.cut_front(offset)
        self._tail.clear()
        self._tail.log_end = self.status.log_start = self.status.flushed = self.first_dirty = offset

    def show_all(self) -> None:
        """Do what a flush does: everything appended is visible."""
        self.status.flushed = self._tail.log_end

    @property
    def last_stable(self) -> int:
        """The stable end of what is flushed, for compaction."""
        return max(self._producers.transactions.stable_end(self.status.flushed), self.status.log_start)

    def stable_end(self, below: int) -> int:
        transactions = self._producers.transactions
        if not transactions.open and not transactions.ending:
            return below
        transactions.forget_ended(below)
        return max(transactions.stable_end(below), self.status.log_start)

    # --- read ------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        self.status.check_writable()
        if not self.status.log_start <= offset <= self.log_end:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} of [{self.status.log_start}, {self.log_end}]"
            )
        if offset >= end:
            return EMPTY_SLICE
        segments = self._tail.segments
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
        """Entries of `aborted_transactions`, with all that is known of them."""
        segments = self._tail.segments
        first = max(0, bisect_right(segments, start, key=_base_offset) - 1)
        return search(segments, first, start, end, lambda segment, index: None)

    def find_timestamp(self, timestamp_ms: int, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return find_timestamp(self, timestamp_ms, Range(self.status.log_start, end), scan)

    def find_max_timestamp(self, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return find_max_timestamp(self, Range(self.status.log_start, end), scan)

    def timed_segments(self) -> Sequence[TimedSegment]:
        return self._tail.segments

    def offset_before_time(self, segment: TimedSegment, timestamp_ms: int) -> int:
        return segment.base_offset

    def batches(self, segment: TimedSegment, offset: int) -> Iterator[tuple[BatchHeader, ReadBatch]]:
        assert isinstance(segment, MemorySegment)
        return segment.lazy_batches(offset)

    # --- forgetting ------------------------------------------------------------------------------------

    def save_log_start(self, before: int) -> None:
        """Do nothing: there is no disk."""

    def delete_records(self, before: int, *, saved: bool = False) -> None:
        """Unlike on disk, segments wholly below go at once."""
        self.status.check_writable()
        if before > self.status.flushed:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {before} is above the visible end, {self.status.flushed}"
            )
        if before > self.status.log_start:
            count = sum(segment.end_offset <= before for segment in self.segments[:-1])
            self._drop_front(count, before)

    def run_retention(self, now_ms: int) -> int:
        """Forget expired segments, and producers; returns how many segments."""
        self._producers.expire(now_ms)
        segments = self.segments
        count = count_expired(
            segments, self.config, log_start=self.status.log_start, settled=self.status.flushed, now_ms=now_ms
        )
        if count:
            if count == len(segments):
                self._tail.roll()
            self._drop_front(count, segments[count - 1].end_offset)
        return count

    def _drop_front(self, count: int, log_start: int) -> None:
        self.status.log_start = max(self.status.log_start, log_start)
        self._epochs.cut_front(self.status.log_start)
        self._tail.drop_front(count)

    def put_cleaned(self, segment: MemorySegment, cleaned: MemorySegment) -> None:
        """Compaction's output takes the place of a sealed segment."""
        self._tail.put_cleaned(segment, cleaned)

    def remove(self) -> None:
        """Remove the records of a deleted topic. Reads that are under way keep what they have."""
        self.status.take_offline()
        self._tail.clear()
