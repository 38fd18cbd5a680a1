"""Log engines without threads: calls for the event loop wait in a queue until `settle`."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from penstock.config.settings import StorageSettings
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.ids import PartitionId
from penstock.model.record import Record
from penstock.model.records import iter_records
from penstock.runtime.files import Files, RealFiles
from penstock.runtime.worker import Worker
from penstock.storage.data_directory import DataDirectory
from penstock.storage.engine.context import EngineContext
from penstock.storage.engine.disk_engine import DiskEngine
from penstock.storage.flush.sync_cost import SyncCost
from penstock.storage.interface import Appended, Log, LogConfig
from penstock.storage.memory.engine import MemoryEngine
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.metadata.topics import TopicRow
from penstock.storage.observer import SilentObserver
from penstock.testing.clock import ManualClock
from penstock.testing.inline_worker import InlineWorker

TOPIC = uuid.UUID(int=1)


class LogBench:
    """The common part of both engines' benches."""

    engine: DiskEngine | MemoryEngine

    def __init__(self, clock: ManualClock | None) -> None:
        self.clock = clock or ManualClock()
        self.calls: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self.flushed: list[Log] = []

    def start(self) -> Self:
        self.engine.start(
            self.on_flushed, lambda function, *args: self.calls.append((function, args)), background=False
        )
        return self

    def on_flushed(self, log: Log) -> None:
        self.flushed.append(log)

    def settle(self) -> None:
        """Run calls until nothing is left to do."""
        while self.calls:
            function, args = self.calls.popleft()
            function(*args)

    def append(
        self,
        value: str | bytes | None,
        index: int = 0,
        topic_id: uuid.UUID = TOPIC,
        key: bytes | None = b"k",
        producer: tuple[int, int] = (-1, -1),
    ) -> Appended:
        """One record in a batch; `producer` is its id and the batch's sequence."""
        content = value.encode() if isinstance(value, str) else value
        batch = build_batch(
            [NewRecord(key, content)],
            timestamp=self.clock.now_ms(),
            producer_id=producer[0],
            producer_epoch=0 if producer[0] >= 0 else -1,
            base_sequence=producer[1],
        )
        log = self.engine.log(PartitionId(topic_id, index))
        return log.append(batch, read_header(batch), self.clock.now_ms())

    def records(self, index: int = 0, topic_id: uuid.UUID = TOPIC) -> list[Record]:
        log = self.engine.log(PartitionId(topic_id, index))
        found: list[Record] = []
        offset = log.log_start
        while offset < log.flushed:
            piece = log.read(offset, 1 << 20, end=log.flushed, one_batch_at_least=True, wait=True)
            if piece.first_offset < 0:
                break
            found += [record for record in iter_records(piece.records) if record.offset >= offset]
            offset = piece.next_offset
        return found

    def values(self, index: int = 0, topic_id: uuid.UUID = TOPIC) -> list[str]:
        return [(record.value or b"").decode() for record in self.records(index, topic_id)]


class EngineBench(LogBench):
    engine: DiskEngine

    def __init__(
        self,
        root: Path,
        files: Files | None = None,
        *,
        metadata: Callable[[], MetadataStore] | None = None,
        clock: ManualClock | None = None,
        cost: SyncCost | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(clock)
        self.root = root
        self.files = files or RealFiles()
        data = DataDirectory(self.files, root)
        data.create()
        data.adopt()
        self.engine = DiskEngine(
            data,
            MetadataStore(root / "meta.db") if metadata is None else metadata(),
            StorageSettings(**{"min_free_bytes": 0, "reserve_bytes": 0, **settings}),
            EngineContext(
                clock=self.clock,
                worker=InlineWorker(),
                disk_thread=InlineWorker(),
                observer=SilentObserver(),
                cost=cost,
            ),
        )

    def create(self, topic: str, topic_id: uuid.UUID, partitions: int = 1, **config: Any) -> None:
        row = TopicRow(topic, topic_id, partitions, False, 1)
        self.engine.metadata.topics.create([(row, {})])
        self.declare(topic, topic_id, partitions, **config)

    def declare(self, topic: str, topic_id: uuid.UUID, partitions: int = 1, **config: Any) -> None:
        for index in range(partitions):
            self.engine.declare(topic, PartitionId(topic_id, index), LogConfig(**config), self.engine.metadata.boot)

    def settle(self) -> None:
        """Run flush rounds and calls until nothing is left to do."""
        while self.calls or self.engine.commit.run_round():
            self.engine.commit.finish_rounds()
            super().settle()


class MemoryBench(LogBench):
    engine: MemoryEngine

    def __init__(self, *, clock: ManualClock | None = None, worker: Worker | None = None, **settings: Any) -> None:
        super().__init__(clock)
        self.engine = MemoryEngine(StorageSettings(**settings), clock=self.clock, worker=worker or InlineWorker())

    def create(self, topic: str, topic_id: uuid.UUID, partitions: int = 1, **config: Any) -> None:
        for index in range(partitions):
            self.engine.declare(topic, PartitionId(topic_id, index), LogConfig(**config), 0)
