"""The log engine without a disk: the same logs, the same rules, gone with the process.

For tests, for caches, for topics whose records nobody needs after a restart. Batches are kept as they came,
in segments, so that retention forgets as much at a time as it would on disk. "Flushed" means that the event
loop has come round once: whoever waits for a flush is called as it would be after a sync, never from inside
`append`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from penstock.model.batch import BatchHeader, Buffer, read_header, stamp, stamp_log_append_time
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.append_rules import check_batch_fits, must_roll
from penstock.storage.epochs import Epochs
from penstock.storage.interface import (
    Appended,
    FlushListener,
    LogConfig,
    LogState,
    ProducerView,
    ReadSlice,
    TimestampOffset,
)
from penstock.storage.producer_state import Producers
from penstock.storage.retention import count_expired
from penstock.storage.segment import EMPTY_SLICE
from penstock.storage.time_search import Range, ReadBatch, TimedSegment, find_max_timestamp, find_timestamp


class MemorySegment:
    """Batches with their last offsets, oldest first."""

    __slots__ = ("base_offset", "batches", "end_offset", "first_timestamp", "largest_timestamp", "last_offsets", "size")

    def __init__(self, base_offset: int) -> None:
        self.base_offset = base_offset
        self.end_offset = base_offset
        self.size = 0
        self.first_timestamp = -1
        self.largest_timestamp = -1
        self.batches: list[bytes] = []
        self.last_offsets: list[int] = []

    def add(self, batch: Buffer, last_offset: int, timestamp: int) -> None:
        self.batches.append(bytes(batch))
        self.last_offsets.append(last_offset)
        self.size += len(batch)
        self.end_offset = last_offset + 1
        self.largest_timestamp = max(self.largest_timestamp, timestamp)
        if self.first_timestamp < 0:
            self.first_timestamp = timestamp


class MemoryLog:
    """Implements `storage.interface.Log`."""

    __slots__ = (
        "_config", "_epoch", "_epochs", "_mark", "_producers", "_segments",
        "flushed", "log_end", "log_start", "partition", "state", "topic",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        partition: PartitionId,
        config: LogConfig,
        leader_epoch: int,
        mark: Callable[[MemoryLog], None],
    ) -> None:
        """`mark` asks for `show_all` to be called soon: what was appended becomes visible then."""
        self.topic = topic
        self.partition = partition
        self.state = LogState.ONLINE
        self.log_start = self.flushed = self.log_end = 0
        self._config = config
        self._mark = mark
        self._segments: tuple[MemorySegment, ...] = ()
        self._producers = Producers()
        self._epochs = Epochs()
        self.begin_epoch(leader_epoch)

    @property
    def config(self) -> LogConfig:
        return self._config

    def set_config(self, config: LogConfig) -> None:
        self._config = config

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def segment_count(self) -> int:
        return len(self._segments)

    def begin_epoch(self, leader_epoch: int) -> None:
        self._epoch = leader_epoch
        self._epochs.begin(leader_epoch, self.log_end)

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        return self._epochs.end_of(leader_epoch, self.flushed)

    def epoch_at(self, offset: int) -> int:
        return self._epochs.at(offset)

    def producers(self) -> Sequence[ProducerView]:
        return self._producers.views()

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        self._check_online()
        config = self._config
        size = len(batch)
        check_batch_fits(config, header, size, now_ms)
        if header.producer_id >= 0:
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
        if not self._segments or must_roll(config, self._segments[-1], size, timestamp, last_offset):
            self._segments = (*self._segments, MemorySegment(base_offset))
        self._segments[-1].add(batch, last_offset, timestamp)
        self.log_end = last_offset + 1
        if header.producer_id >= 0:
            self._producers.note(header, base_offset, append_time_ms, now_ms)
        self._mark(self)
        return Appended(base_offset, last_offset, append_time_ms, False)

    append_trusted = append

    def _check_online(self) -> None:
        if self.state is not LogState.ONLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the log was removed")

    def show_all(self) -> None:
        """What a flush does."""
        self.flushed = self.log_end

    def read(self, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        if not self.log_start <= offset <= self.log_end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} of [{self.log_start}, {self.log_end}]")
        if offset >= end:
            return EMPTY_SLICE
        segments = self._segments
        segment = segments[max(0, bisect_right(segments, offset, key=lambda one: one.base_offset) - 1)]
        index = bisect_right(segment.last_offsets, offset - 1)
        first, room = index, max_bytes
        taken: list[bytes] = []
        while index < len(segment.batches) and segment.last_offsets[index] < end:
            batch = segment.batches[index]
            if len(batch) > room and (taken or not one_batch_at_least):
                break
            taken.append(batch)
            room -= len(batch)
            index += 1
        if not taken:
            return EMPTY_SLICE
        records = taken[0] if len(taken) == 1 else b"".join(taken)
        first_offset = read_header(segment.batches[first]).base_offset
        return ReadSlice(records, first_offset, segment.last_offsets[index - 1] + 1)

    def find_timestamp(self, timestamp_ms: int, *, end: int) -> TimestampOffset | None:
        return find_timestamp(self, timestamp_ms, Range(self.log_start, end))

    def find_max_timestamp(self, *, end: int) -> TimestampOffset | None:
        return find_max_timestamp(self, Range(self.log_start, end))

    def timed_segments(self) -> Sequence[TimedSegment]:
        return self._segments

    def offset_before_time(self, segment: TimedSegment, timestamp_ms: int) -> int:
        return segment.base_offset

    def batches(self, segment: TimedSegment, offset: int) -> Iterator[tuple[BatchHeader, ReadBatch]]:
        assert isinstance(segment, MemorySegment)
        start = bisect_right(segment.last_offsets, offset - 1)
        for batch in segment.batches[start:]:
            yield read_header(batch), partial(_same, batch)

    def delete_records(self, before: int) -> None:
        if before > self.flushed:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {before} is above the visible end, {self.flushed}")
        if before > self.log_start:
            self.log_start = before
            self._epochs.cut_front(before)

    def run_retention(self, now_ms: int) -> int:
        self._producers.expire(now_ms)
        segments = self._segments
        count = count_expired(segments, self._config, log_start=self.log_start, flushed=self.flushed, now_ms=now_ms)
        if count:
            self.log_start = max(self.log_start, segments[count - 1].end_offset)
            self._epochs.cut_front(self.log_start)
            self._segments = segments[count:] or (MemorySegment(self.log_end),)
        return count


class MemoryEngine:
    """Implements `storage.interface.LogEngine`."""

    def __init__(self) -> None:
        self._logs: dict[PartitionId, MemoryLog] = {}
        self._unseen: dict[MemoryLog, None] = {}
        self._on_flushed: FlushListener | None = None
        self._call_soon: Callable[..., object] | None = None

    def log(self, partition: PartitionId) -> MemoryLog:
        return self._logs[partition]

    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        if partition in self._logs:
            self._logs[partition].begin_epoch(leader_epoch)
        else:
            self._logs[partition] = MemoryLog(topic, partition, config, leader_epoch, self._mark)

    def configure(self, partition: PartitionId, config: LogConfig) -> None:
        self._logs[partition].set_config(config)

    def remove(self, partition: PartitionId) -> None:
        log = self._logs.pop(partition, None)
        if log is not None:
            log.state = LogState.OFFLINE
            self._unseen.pop(log, None)

    def accepts_writes(self) -> bool:
        return True

    def run_retention(self, now_ms: int) -> int:
        return sum(log.run_retention(now_ms) for log in self._logs.values())

    def start(self, on_flushed: FlushListener, call_soon: Callable[..., object]) -> None:
        self._on_flushed = on_flushed
        self._call_soon = call_soon

    def close(self) -> None:
        self._show_all()

    def _mark(self, log: MemoryLog) -> None:
        if not self._unseen and self._call_soon is not None:
            self._call_soon(self._show_all)
        self._unseen[log] = None

    def _show_all(self) -> None:
        unseen, self._unseen = self._unseen, {}
        for log in unseen:
            log.show_all()
            if self._on_flushed is not None:
                self._on_flushed(log)


def _same(batch: bytes) -> bytes:
    return batch
