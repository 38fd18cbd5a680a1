"""The log engine by itself, in this process: single messages in, messages out, one message by its offset.

Appends go the way of every door that takes message by message (`broker.records.batcher`): four thousand callers, each
of which sends its next message when the one before is on disk. Reads are decoded, after the CRC of their batch was
checked.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvloop
from crc32c import crc32c

from bench.spread import Figures
from penstock.broker.records.appender import RecordAppender
from penstock.broker.records.batcher import Batcher, Gatherer
from penstock.cluster.partition import Partition
from penstock.cluster.role import Leader
from penstock.cluster.topics import TopicTable
from penstock.cluster.visibility import visibility_of
from penstock.config.settings import Flush, StorageSettings
from penstock.model.batch import CRC_START, iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import KafkaError
from penstock.model.ids import PartitionId
from penstock.model.records import batch_records, record_at
from penstock.observability.metrics import BrokerMetrics
from penstock.runtime.clock import SystemClock
from penstock.storage.engine.disk_engine import DiskEngine
from penstock.storage.interface import Log, LogConfig
from penstock.storage.metadata.topics import TopicRow

CALLERS: Final = 4000
MESSAGE: Final = NewRecord(None, b"m" * 100)
BATCH_MESSAGES: Final = 100
SEGMENT_BYTES: Final = 16 << 20
READ_BYTES: Final = 1 << 20
LOOK_UPS: Final = 20_000


class Engine:
    """A disk engine with one partition, between `async with`."""

    def __init__(self, root: Path, flush: Flush) -> None:
        self._engine = DiskEngine.open(root, StorageSettings(flush=flush))
        partition = PartitionId(uuid.uuid4(), 0)
        row = TopicRow("bench", partition.topic_id, 1, False, 1)
        self._engine.metadata.topics.create([(row, {})])
        self._engine.declare("bench", partition, LogConfig(segment_bytes=SEGMENT_BYTES), 0)
        self.log: Log = self._engine.log(partition)
        self.partition = Partition("bench", partition, self.log, Leader(0), visibility_of(flush))

    async def __aenter__(self) -> Engine:
        loop = asyncio.get_running_loop()
        self._engine.start(self._flushed, loop.call_soon_threadsafe, call_next=loop.call_soon)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._engine.close()
        self._engine.metadata.close()

    def _flushed(self, log: Log) -> None:
        self.partition.log_advanced()

    async def fill(self, batches: int) -> None:
        """Batches as an ordinary producer sends them."""
        for _ in range(batches):
            batch = build_batch([MESSAGE] * BATCH_MESSAGES, timestamp=SystemClock().now_ms())
            header = next(iter_headers(batch))[1]
            self.log.append(batch, header, SystemClock().now_ms())
        visible = asyncio.Event()
        self.partition.when_visible(self.log.log_end - 1, lambda code: visible.set())
        await visible.wait()


async def _append(engine: Engine, seconds: float) -> Figures:
    loop = asyncio.get_running_loop()
    gatherer = Gatherer(
        Batcher(engine.partition, RecordAppender(TopicTable(), BrokerMetrics()), SystemClock()), loop.call_soon
    )
    ended = asyncio.Event()
    acknowledged = 0
    stop_at = time.perf_counter() + seconds

    def done(offset: int, error: KafkaError | None) -> None:
        nonlocal acknowledged
        if error is not None:
            raise error
        acknowledged += 1
        if not ended.is_set():
            gatherer.add(MESSAGE, done)

    started = time.perf_counter()
    for _ in range(CALLERS):
        gatherer.add(MESSAGE, done)
    loop.call_later(stop_at - started, ended.set)
    await ended.wait()
    return {"messages_per_s": acknowledged / (time.perf_counter() - started)}


def append(directory: Path, seconds: float, flush: Flush) -> Figures:
    async def measured() -> Figures:
        async with Engine(directory, flush) as engine:
            return await _append(engine, seconds)

    return uvloop.run(measured())


def read(directory: Path, seconds: float, *, sealed: bool) -> Figures:
    """Over and over through one segment: the active one, or one that is sealed."""

    async def measured() -> Figures:
        async with Engine(directory, Flush.OS) as engine:
            per_segment = SEGMENT_BYTES // (BATCH_MESSAGES * 108)
            await engine.fill(per_segment * 3 // 2 if sealed else per_segment // 2)
            end = per_segment // 2 * BATCH_MESSAGES  # the first half of the first segment
            return _rate(lambda: _read_all(engine.log, end), seconds)

    return uvloop.run(measured())


def _rate(work: Callable[[], int], seconds: float) -> Figures:
    work()
    count = 0
    started = time.perf_counter()
    while (passed := time.perf_counter() - started) < seconds:
        count += work()
    return {"messages_per_s": count / passed}


def _read_all(log: Log, end: int) -> int:
    offset = count = 0
    while offset < end:
        piece = log.read(offset, READ_BYTES, end=end, one_batch_at_least=True, wait=True)
        for position, header in iter_headers(piece.records):
            view = memoryview(piece.records)[position + CRC_START : position + header.size_bytes]
            if crc32c(view) != header.crc:
                raise ValueError(f"a batch at {header.base_offset} is damaged")
            count += len(batch_records(piece.records, header, position))
        offset = piece.next_offset
    return count


def look_up(directory: Path) -> Figures:
    """One message by its offset, at random, in sealed segments."""

    async def measured() -> Figures:
        async with Engine(directory, Flush.OS) as engine:
            per_segment = SEGMENT_BYTES // (BATCH_MESSAGES * 108)
            await engine.fill(per_segment * 5)
            chosen = random.Random(1)
            end = per_segment * 4 * BATCH_MESSAGES
            times = sorted(_timed(engine, chosen.randrange(end)) for _ in range(LOOK_UPS))
            return {"p50_ms": times[LOOK_UPS // 2] * 1e3, "p99_ms": times[LOOK_UPS * 99 // 100] * 1e3}

    return uvloop.run(measured())


def _timed(engine: Engine, offset: int) -> float:
    end = engine.partition.high_watermark
    started = time.perf_counter()
    piece = engine.log.read(offset, 1, end=end, one_batch_at_least=True, wait=True)
    header = next(iter_headers(piece.records))[1]
    if crc32c(memoryview(piece.records)[CRC_START : header.size_bytes]) != header.crc:
        raise ValueError(f"the batch of {offset} is damaged")
    record = record_at(piece.records, header, offset)
    passed = time.perf_counter() - started
    if record is None or record.offset != offset or record.value != MESSAGE.value:
        raise ValueError(f"{offset} is not what was stored there")
    return passed
