"""The interface of the log engine: a log per partition, the same for logs on disk and in memory.

Threads: every method is called on the event loop's thread unless its docstring says otherwise. Nothing here waits
for the disk except reads with `wait=True`, which the caller moves to a thread, and what says that it is durable.

Offsets of a log, always  log_start <= flushed <= log_end:

    log_start    first offset that may be read
    flushed      everything below is on disk, whatever `storage.flush` says
    log_end      offset of the next record

A log does not know how much of it readers may see: high watermark and last stable offset belong to the partition
(`cluster.partition`), which asks for the stable end below its high watermark.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from penstock.model.batch import BatchHeader, Buffer
from penstock.model.compression import CODEC_NAMES
from penstock.model.control_record import Marker
from penstock.model.ids import PartitionId, TopicId
from penstock.runtime.file_part import FilePart

if TYPE_CHECKING:
    from penstock.config.settings import StorageSettings
    from penstock.storage.metadata.store import MetadataStore
    from penstock.storage.observer import EngineObserver

T = TypeVar("T")


class LogState(enum.Enum):
    """ONLINE takes reads and writes; DAMAGED is readable up to the damage and refuses writes; OFFLINE refuses both."""

    ONLINE = "online"
    DAMAGED = "damaged"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """The topic configs that the log engine obeys, resolved to plain values (defaults are Kafka's)."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    cleanup_delete: bool = True
    cleanup_compact: bool = False
    delete_retention_ms: int = 24 * 3600 * 1000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    min_cleanable_dirty_ratio: float = 0.5
    max_message_bytes: int = 1_048_588
    log_append_time: bool = False
    timestamp_before_max_ms: int = (1 << 63) - 1
    timestamp_after_max_ms: int = 3_600_000
    compression_type: str = "producer"
    message_ttl_ms: int = -1  # not for the log: it keeps what has expired, and the push door does not send it

    @property
    def codec(self) -> int | None:
        """The codec of stored batches; None: as their producers sent them."""
        if self.compression_type == "producer":
            return None
        return 0 if self.compression_type == "uncompressed" else CODEC_NAMES.index(self.compression_type)


class Appended(NamedTuple):
    """Where a batch went. `duplicate`: an idempotent producer sent it before; same offsets, nothing written."""

    base_offset: int
    last_offset: int
    append_time_ms: int  # -1 unless the topic stamps LogAppendTime
    duplicate: bool


class ReadSlice(NamedTuple):
    """Whole batches, straight from the segment. Empty when there is nothing below the limit."""

    records: bytes | bytearray | memoryview
    first_offset: int  # base offset of the first batch, -1 when empty
    next_offset: int  # where a reader goes on
    part: FilePart | None = None  # the same bytes for a socket, if they need not be copied
    has_next: bool = False  # the segment ended before the limits did, and another one follows


class TimestampOffset(NamedTuple):
    timestamp_ms: int
    offset: int
    leader_epoch: int


class Scan(Protocol):
    """Runs a function that looks through the records of a batch, in this process or another."""

    def __call__(self, function: Callable[..., T], batch: Buffer, header: BatchHeader, *args: int) -> T: ...


class ProducerView(NamedTuple):
    """One producer's state in one log, as DescribeProducers shows it."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int  # of its last marker, -1 if there was none
    current_txn_start_offset: int  # -1 if it has no open transaction


class AbortedTransaction(NamedTuple):
    """Records that read_committed consumers leave out: those of this producer from here to its next marker."""

    producer_id: int
    first_offset: int


class OpenTransaction(NamedTuple):
    """A transaction that no marker has ended in this log."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int  # of the producer's last marker here, -1 if there was none
    first_offset: int
    last_timestamp_ms: int


class LogStatus(Protocol):
    """What a partition asks its log for with every request: attributes, since a call would cost more than the answer.

    One object for the life of the log. Only the log changes it, on the event loop; a reader that finds damage changes
    the state in its thread.
    """

    state: LogState
    config: LogConfig
    """Another object after every change, so identity tells whether it changed."""
    log_start: int
    flushed: int


class Log(Protocol):
    """One partition's records."""

    partition: PartitionId
    topic: str

    @property
    def status(self) -> LogStatus: ...
    @property
    def state(self) -> LogState: ...
    @property
    def log_start(self) -> int: ...
    @property
    def flushed(self) -> int: ...
    @property
    def log_end(self) -> int: ...

    @property
    def config(self) -> LogConfig: ...
    def set_config(self, config: LogConfig) -> None: ...

    @property
    def size_bytes(self) -> int: ...
    @property
    def segment_count(self) -> int: ...

    def begin_epoch(self, leader_epoch: int) -> None:
        """The epoch stamped into batches from now on; the first append under it is where it starts."""
        ...

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        """Check the producer's sequence, stamp offset and epoch, write, and ask for a flush.

        `batch` is writable, has passed `check_batch`, and is stamped in place. Raises KafkaError (45, 47, 32, 10, 56
        ...), in which case nothing was written. On return the batch is in the file but not yet below `flushed`.
        """
        ...

    def append_trusted(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        """Append the broker's own records (groups, transactions), which may use the disk reserve."""
        ...

    def append_mirrored(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> None:
        """Write a batch of another log with the offsets, leader epoch and producer it has there; asks for a flush.

        It has been checked. Offsets may be missing before it. Raises KafkaError, in which case nothing was written.
        """
        ...

    def stable_end(self, below: int) -> int:
        """Where readers of committed records stop, if others see everything below `below`: the first offset of the
        oldest transaction whose marker is not below it, or `below` if there is none; not below `log_start`.

        `below` does not fall between two calls while the records of the log stay: transactions that ended below it
        are forgotten. Whatever takes records away from the end of a log has to restore them from what is left.
        """
        ...

    def append_marker(self, marker: Marker, now_ms: int) -> Appended:
        """End the producer's transaction; may use the disk reserve. The marker counts for readers who see it.

        Written, too, where the producer has no transaction or is not known: whether one is wanted is the
        coordinator's business. Raises KafkaError INVALID_PRODUCER_EPOCH for an epoch below the producer's,
        TRANSACTION_COORDINATOR_FENCED for a coordinator below the one of its last marker, KAFKA_STORAGE_ERROR.
        """
        ...

    def aborted_transactions(self, start: int, end: int, *, wait: bool) -> list[AbortedTransaction]:
        """Transactions with the marker at or above `start` and the first offset below `end`, by the marker's offset.

        May be called from a thread. With wait=False raises BlockingIOError when the disk would be waited for.
        """
        ...

    def open_transactions(self) -> list[OpenTransaction]:
        """Open transactions, by first offset. Everything written counts, flushed or not."""
        ...

    def read(self, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        """Batches of one segment from the one that contains `offset` while they end at or below offset `end` and fit
        max_bytes. `log.multi_segment_read` reads on.

        Reading may be called from a thread. With wait=False raises BlockingIOError when the disk would be waited for.
        Raises KafkaError OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR.
        """
        ...

    def find_timestamp(self, timestamp_ms: int, *, end: int, scan: Scan = ...) -> TimestampOffset | None:
        """First record at or above log_start and below `end` whose timestamp is >= timestamp_ms. Any thread.

        `scan` may take a batch to another process; without it, it is looked through here.
        """
        ...

    def find_max_timestamp(self, *, end: int, scan: Scan = ...) -> TimestampOffset | None:
        """The record with the largest timestamp below `end` (the first such). Any thread."""
        ...

    def epoch_end(self, leader_epoch: int) -> tuple[int, int]:
        """(largest epoch <= the given one, offset where it ends, written or flushed), or (-1, -1)."""
        ...

    def epoch_at(self, offset: int) -> int:
        """Leader epoch of the record at `offset`, -1 if unknown."""
        ...

    def save_log_start(self, before: int) -> None:
        """Make durable that nothing below `before` will be read again. Waits for the disk. Any thread."""
        ...

    def delete_records(self, before: int, *, saved: bool = False) -> None:
        """Raise log_start, durably: waits for the disk unless `save_log_start` has done so.

        Segments wholly below it go later, with retention.
        """
        ...

    def producers(self) -> Sequence[ProducerView]: ...

    def producer(self, producer_id: int) -> ProducerView | None:
        """Return what the log knows of a producer; None if it knows nothing, or nothing any more."""
        ...

    def find_sequence(self, producer_id: int, sequence: int) -> tuple[int, int] | None:
        """Offset of a producer's record, flushed or not, if it is in one of the last five batches; and the largest
        timestamp of its batch.
        """
        ...


class FlushListener(Protocol):
    """Called on the event loop for each log that has advanced or failed: after a flush round and, where producers do
    not wait for the disk, soon after a write.
    """

    def __call__(self, log: Log) -> None: ...


class LogEngine(Protocol):
    """All logs of a node."""

    def log(self, partition: PartitionId) -> Log:
        """The open log (opened and recovered on first use). KeyError if it was never declared."""
        ...

    def open_logs(self) -> Iterable[Log]:
        """Logs that are open by now: sooner or later all that have records."""
        ...

    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        """Say that a partition exists; touches no file before its first record."""
        ...

    def configure(self, partition: PartitionId, config: LogConfig) -> None: ...

    def remove(self, partition: PartitionId) -> None:
        """Forget and delete a partition's files (a topic was deleted)."""
        ...

    def is_leaving(self, topic_id: TopicId) -> bool:
        """Whether files of a deleted topic of this id are still there: a new one must wait."""
        ...

    def restart_at(self, partition: PartitionId, offset: int) -> None:
        """Forget all records of a log, which are flushed, and go on at `offset`, at or above its end; durable.

        Waits for the disk. BlockingIOError while the log is being looked after: try again a little later.
        """
        ...

    def problems(self) -> Mapping[str, Sequence[str]]:
        """Problems for the operator as texts, by kind: `compaction`, `orphans`, and others that an engine has."""
        ...

    def accepts_writes(self) -> bool:
        """False while produce is refused because the disk, or what memory may hold, is nearly full."""
        ...

    def run_retention(self, now_ms: int) -> int:
        """Delete what retention allows; returns segments removed. Called by a timer."""
        ...

    def start(
        self,
        on_flushed: FlushListener,
        call_soon: Callable[..., object],
        *,
        call_next: Callable[..., object] | None = None,
        after_round: Callable[[], None] | None = None,
    ) -> None:
        """Begin flush rounds. `call_soon(function, *args)` brings a call onto the event loop from any thread,
        `call_next` does so from the loop's own. `after_round` is called on the loop when all waiters for a round
        have been called.
        """
        ...

    def close(self) -> None:
        """Flush everything, write snapshots and the clean marker, release the lock."""
        ...


class StorageEngine(LogEngine, Protocol):
    """A log engine and the metadata of its node, as one thing that opens and closes.

    Open to other packages (docs/extending.md): the entry point group is `penstock.storage`, its values are
    `OpenStorage`. Penstock brings two: `storage.engine.disk_engine.DiskEngine` and
    `storage.memory.engine.MemoryEngine`.
    """

    @property
    def metadata(self) -> MetadataStore:
        """Topics, configs and the rest that records cannot give back. Closed by `close`."""
        ...

    def recover(self) -> None:
        """Put in order what a crash left. Once, when all partitions are declared and before `start`. Any thread."""
        ...


class OpenStorage(Protocol):
    """Makes an engine. DataDirectoryError with a message for people if `directory` cannot be used."""

    def __call__(self, directory: Path, settings: StorageSettings, observer: EngineObserver) -> StorageEngine: ...
