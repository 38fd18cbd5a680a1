"""A group coordinator in a small world: the real tables and controller over logs in memory that flush on demand.

`World` is one boot of a node. `restart` makes the next one over the same logs, as after kill -9: everything in memory
is lost, including unflushed records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.cluster.controller.controller import Controller
from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicTable
from penstock.config.settings import GroupSettings, Settings
from penstock.model.batch import BatchHeader, iter_headers, stamp
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.model.record import Record
from penstock.model.records import iter_records
from penstock.storage.interface import (
    Appended,
    LogConfig,
    LogState,
    LogStatus,
    ProducerView,
    ReadSlice,
    Scan,
    TimestampOffset,
)
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.segment.time_search import scan_here
from tests.support.no_transactions import NoMirrors, NoTransactions

T = TypeVar("T")


class HandClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time_ms = 1_000_000

    def now_ms(self) -> int:
        return 1_700_000_000_000 + self.time_ms

    def monotonic_ms(self) -> int:
        return self.time_ms


def _nobody(log: object) -> None:
    """Before the engine is started."""


class HandLog(NoTransactions):
    """A log in memory whose flushes are made by hand, or at once."""

    def __init__(self, topic: str, partition: PartitionId, config: LogConfig) -> None:
        self.topic = topic
        self.partition = partition
        self.state = LogState.ONLINE
        self.log_start = 0
        self.flushed = 0
        self.log_end = 0
        self.flushes_at_once = True
        self.on_flushed: Callable[[Any], None] = _nobody
        self.refusal: ErrorCode | None = None
        self.batches: list[bytes] = []
        self.config = config

    @property
    def status(self) -> LogStatus:
        return self  # which has its attributes

    def set_config(self, config: LogConfig) -> None:
        self.config = config

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.batches))

    @property
    def segment_count(self) -> int:
        return 1

    def begin_epoch(self, leader_epoch: int) -> None:
        pass

    def append(self, batch: bytearray | memoryview, header: BatchHeader, now_ms: int) -> Appended:
        appended = self.write(batch, header)
        self.flush_at_once()
        return appended

    def write(self, batch: bytearray | memoryview, header: BatchHeader) -> Appended:
        if self.refusal is not None:
            raise KafkaError(self.refusal)
        base = self.log_end
        stamp(batch, base, 0)
        self.batches.append(bytes(batch))
        self.log_end = base + header.record_count
        return Appended(base, self.log_end - 1, -1, False)

    def flush_at_once(self) -> None:
        if self.flushes_at_once:
            self.flushed = self.log_end
            self.on_flushed(self)

    append_trusted = append

    def read(self, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool) -> ReadSlice:
        taken = b""
        first, following = -1, offset
        for batch in self.batches:
            (_, header), *_ = iter_headers(batch)
            if header.last_offset < offset or header.next_offset > end or len(taken) >= max_bytes:
                continue
            first = header.base_offset if first < 0 else first
            following = header.next_offset
            taken += batch
        return ReadSlice(taken, first, following)

    def records(self) -> list[Record]:
        return [record for batch in self.batches for record in iter_records(batch)]

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
        return ()

    def lose_unflushed(self) -> None:
        kept = []
        for batch in self.batches:
            (_, header), *_ = iter_headers(batch)
            if header.next_offset <= self.flushed:
                kept.append(batch)
        self.batches = kept
        self.log_end = self.flushed


class HandEngine(NoMirrors):
    """All logs of the world."""

    def __init__(self) -> None:
        self.logs: dict[PartitionId, HandLog] = {}
        self.flushes_at_once = True
        self._on_flushed: Callable[[Any], None] = _nobody

    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        log = self.logs.setdefault(partition, HandLog(topic, partition, config))
        log.flushes_at_once = self.flushes_at_once
        log.on_flushed = self._on_flushed

    def log(self, partition: PartitionId) -> HandLog:
        return self.logs[partition]

    def configure(self, partition: PartitionId, config: LogConfig) -> None:
        self.logs[partition].set_config(config)

    def remove(self, partition: PartitionId) -> None:
        del self.logs[partition]

    def open_logs(self) -> Iterable[HandLog]:
        return self.logs.values()

    def accepts_writes(self) -> bool:
        return True

    def run_retention(self, now_ms: int) -> int:
        return 0

    def start(self, on_flushed: Any, call_soon: Callable[..., object], **options: Any) -> None:
        self._on_flushed = on_flushed
        for log in self.logs.values():
            log.on_flushed = on_flushed

    def close(self) -> None:
        pass

    def hold_flushes(self, hold: bool = True) -> None:
        self.flushes_at_once = not hold
        for log in self.logs.values():
            log.flushes_at_once = not hold


class World:
    """One boot of a node, as far as groups need one."""

    def __init__(
        self,
        *,
        engine: HandEngine | None = None,
        store: MetadataStore | None = None,
        clock: HandClock | None = None,
        **group_settings: Any,
    ) -> None:
        groups = GroupSettings(**{"initial_rebalance_delay_ms": 0, "offsets_topic_partitions": 5, **group_settings})
        self._group_settings = group_settings
        self.settings = Settings(groups=groups)
        self.engine = engine or HandEngine()
        self.store = store or MetadataStore(None)
        self.clock = clock or HandClock()
        self.topics = TopicTable()
        self.controller = Controller(store=self.store, engine=self.engine, topics=self.topics, settings=self.settings)
        self.controller.load()
        self.partitions = PartitionTable(engine=self.engine, topics=self.topics)
        self.engine.start(self.partitions.on_flushed, lambda *_: None)
        self.groups = GroupCoordinator(
            settings=self.settings,
            partitions=self.partitions,
            topics=self.topics,
            controller=self.controller,
            clock=self.clock,
        )

    async def __aenter__(self) -> World:
        await self.groups.start()
        await self.groups.loaded()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.groups.stop()
        await self.controller.close()

    def restarted(self) -> World:
        """The next boot, with flushed records only."""
        for log in self.engine.logs.values():
            log.lose_unflushed()
            log.state = LogState.ONLINE
        return World(engine=self.engine, store=self.store, clock=self.clock, **self._group_settings)

    async def create_topic(self, name: str, partitions: int = 1) -> Topic:
        (topic,) = await self.controller.topics.create([NewTopic(name=name, partition_count=partitions)])
        assert isinstance(topic, Topic)
        return topic

    def log_of(self, topic: str, index: int) -> HandLog:
        found = self.topics.get(topic)
        assert found is not None
        return self.engine.logs[PartitionId(found.topic_id, index)]

    def flush(self) -> None:
        for log in tuple(self.engine.logs.values()):
            if log.flushed < log.log_end:
                log.flushed = log.log_end
                self.partitions.on_flushed(log)

    def fail_flush(self, topic: str, index: int) -> None:
        log = self.log_of(topic, index)
        log.state = LogState.OFFLINE
        self.partitions.on_flushed(log)

    async def pass_time(self, span_ms: int) -> None:
        self.clock.time_ms += span_ms
        self.groups.shards.timer.tick()
        await asyncio.sleep(0)


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run a test with an event loop and a time limit, so that a bug cannot make it hang."""

    async def limited() -> T:
        return await asyncio.wait_for(test, 20)

    return asyncio.run(limited())


async def settle() -> None:
    """Let all ready tasks run."""
    for _ in range(10):
        await asyncio.sleep(0)
