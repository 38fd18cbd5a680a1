"""A log engine that keeps offsets but no records: enough for tests of topics and admin answers.

It flushes on demand (`PlainLog.grow` and `flush`), can be made to fail, and records its calls, so that a test can see
that a deleted topic's partitions were removed and that new configs arrived.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.model.batch import BatchHeader
from penstock.model.ids import PartitionId
from penstock.storage.interface import (
    Appended,
    FlushListener,
    Log,
    LogConfig,
    LogState,
    LogStatus,
    ProducerView,
    ReadSlice,
    Scan,
    TimestampOffset,
)
from penstock.storage.segment.time_search import scan_here
from tests.support.no_transactions import NoMirrors, NoTransactions

BYTES_PER_RECORD = 100


class PlainLog(NoTransactions):
    def __init__(self, topic: str, partition: PartitionId, config: LogConfig) -> None:
        self.topic = topic
        self.partition = partition
        self.state = LogState.ONLINE
        self.log_start = self.flushed = self.log_end = 0
        self.known_producers: list[ProducerView] = []
        self.config = config

    def grow(self, records: int) -> None:
        self.log_end += records

    def flush(self) -> None:
        self.flushed = self.log_end

    @property
    def status(self) -> LogStatus:
        return self  # which has its attributes

    def set_config(self, config: LogConfig) -> None:
        self.config = config

    @property
    def size_bytes(self) -> int:
        return (self.log_end - self.log_start) * BYTES_PER_RECORD

    @property
    def segment_count(self) -> int:
        return 1

    def begin_epoch(self, leader_epoch: int) -> None: ...

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        raise AssertionError("no records here")

    append_trusted = append

    def read(self, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        return ReadSlice(b"", -1, offset)

    def find_timestamp(self, timestamp_ms: int, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return None

    def find_max_timestamp(self, *, end: int, scan: Scan = scan_here) -> TimestampOffset | None:
        return None

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        return -1, -1

    def epoch_at(self, offset: int) -> int:
        return -1

    def save_log_start(self, before: int) -> None:
        pass

    def delete_records(self, before: int, *, saved: bool = False) -> None:
        self.log_start = before

    def producers(self) -> Sequence[ProducerView]:
        return self.known_producers


class PlainEngine(NoMirrors):
    def __init__(self) -> None:
        self.declared: dict[PartitionId, tuple[str, LogConfig, int]] = {}
        self.opened: dict[PartitionId, PlainLog] = {}
        self.removed: list[PartitionId] = []
        self.open_error: OSError | None = None

    def log(self, partition: PartitionId) -> PlainLog:
        topic, config, _ = self.declared[partition]
        if self.open_error is not None:
            raise self.open_error
        return self.opened.setdefault(partition, PlainLog(topic, partition, config))

    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        assert partition not in self.declared
        self.declared[partition] = topic, config, leader_epoch

    def configure(self, partition: PartitionId, config: LogConfig) -> None:
        topic, _, leader_epoch = self.declared[partition]
        self.declared[partition] = topic, config, leader_epoch
        if partition in self.opened:
            self.opened[partition].set_config(config)

    def remove(self, partition: PartitionId) -> None:
        del self.declared[partition]
        self.opened.pop(partition, None)
        self.removed.append(partition)

    def open_logs(self) -> Iterable[PlainLog]:
        return self.opened.values()

    def accepts_writes(self) -> bool:
        return True

    def run_retention(self, now_ms: int) -> int:
        return 0

    def start(self, on_flushed: FlushListener, call_soon: Callable[..., object], **options: Any) -> None: ...

    def close(self) -> None: ...


def opened_log(log: Log) -> PlainLog:
    """The log behind a partition of a test broker."""
    assert isinstance(log, PlainLog)
    return log
