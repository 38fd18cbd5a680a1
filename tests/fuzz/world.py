"""A whole broker without sockets, threads, disk or chance: the real dispatcher, handlers and memory engine.

A new one for every input, made in a millisecond or two, so that no input can be the reason why another one fails.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from threading import RLock
from typing import Final
from unittest.mock import patch

from penstock.broker.broker import Broker
from penstock.broker.records.worker import RecordWorker
from penstock.config.settings import Settings
from penstock.model.batch import crc_matches, iter_headers
from penstock.node.broker import build_broker
from penstock.node.node import Node
from penstock.node.storage import Storage
from penstock.security.access import Access
from penstock.storage.memory.engine import MemoryEngine
from penstock.storage.memory.log import MemoryLog
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.metadata.topics import TopicRow
from penstock.testing.inline_worker import InlineWorker
from tests.fuzz.finding import Finding
from tests.fuzz.virtual_loop import LoopClock, VirtualLoop
from tests.support.batches import Record, batch

# Bounds small enough that an input can reach them.
SETTINGS: Final = Settings.model_validate(
    {
        "storage": {"engine": "memory", "memory_bytes_max": 1 << 20},
        "groups": {"offsets_topic_partitions": 1, "groups_max": 8, "members_max": 4},
        "limits": {
            "topics_max": 12,
            "partitions_max": 40,
            "partitions_per_topic_max": 8,
            "fetch_sessions_max": 2,
            "frame_bytes_max": 64 << 10,
            "queued_bytes_per_connection_max": 64 << 10,
            "queued_bytes_total_max": 1 << 20,
            "unread_bytes_per_connection_max": 64 << 10,
            "decompressed_bytes_max": 1 << 20,
            "in_flight_per_connection_max": 4,
        },
    }
)

TOPICS: Final[dict[str, tuple[uuid.UUID, dict[str, str]]]] = {
    "t": (uuid.UUID(int=1), {}),
    "compacted": (uuid.UUID(int=2), {"cleanup.policy": "compact"}),
    "stamped": (uuid.UUID(int=3), {"message.timestamp.type": "LogAppendTime", "max.message.bytes": "2000"}),
    "zipped": (uuid.UUID(int=4), {"compression.type": "zstd"}),
}
STORED: Final = tuple(
    batch([Record(key=b"k", value=b"v%d" % n, timestamp_ms=1_700_000_000_000 + n)], codec=n) for n in range(5)
)

_metrics = Node(SETTINGS).metrics  # one for all inputs: what grows in it with what clients send is found in the end


class World:
    """One broker and its loop. `close` raises a Finding if something is left that should not be."""

    def __init__(self) -> None:
        self.loop = VirtualLoop()
        self.problems: list[str] = []
        self.loop.set_exception_handler(lambda _loop, context: self.problems.append(repr(context)))
        self._store = MetadataStore(None)
        self.engine = MemoryEngine(
            SETTINGS.storage, clock=LoopClock(self.loop), worker=InlineWorker(), metadata=self._store
        )
        self.broker = self.loop.run_until_complete(self._build())

    async def _build(self) -> Broker:
        self._store.topics.create(
            [(TopicRow(name, topic_id, 2, False, 1), configs) for name, (topic_id, configs) in TOPICS.items()]
        )
        self._stack = AsyncExitStack()
        clock, record_worker = LoopClock(self.loop), inline_record_worker()
        self._stack.callback(record_worker.close)
        broker = build_broker(
            SETTINGS,
            Storage(self.engine),
            access=Access(),
            metrics=_metrics,
            clock=clock,
            record_worker=record_worker,
            closing=self._stack,
        )
        self.engine.start(broker.partitions.on_flushed, self.loop.call_soon_threadsafe, background=False)
        await broker.groups.start()
        partition = broker.partitions.get("t", 0)
        for stored in STORED:
            (_, header), *_ = iter_headers(stored)
            partition.append(bytearray(stored), header, clock.now_ms())
        return broker

    def close(self) -> None:
        """End everything, then look at what is left."""
        self.loop.run_until_complete(self._stop())
        left = asyncio.all_tasks(self.loop)
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        if left:
            raise Finding(f"tasks that go on without a client: {left}")
        if self.problems:
            raise Finding("\n".join(self.problems))
        if self.broker.parked or self.broker.flow.held_bytes:
            raise Finding(f"{len(self.broker.parked)} requests and {self.broker.flow.held_bytes} bytes are left")
        for log in self.engine.open_logs():
            check_stored(log)

    async def _stop(self) -> None:
        await self.broker.groups.stop()
        self.engine.tick()
        await self._stack.aclose()
        self.engine.close()


def inline_record_worker() -> RecordWorker:
    worker = RecordWorker(InlineWorker(), unpacked_bytes_max=SETTINGS.limits.decompressed_bytes_max)
    # It is answered at once, while it asks; by no real worker is it.
    setattr(worker, "_lock", RLock())  # noqa: B010 - a lock of another type
    return worker


def check_stored(log: MemoryLog) -> None:
    """Check that every batch is whole: no part of a frame was kept after its memory was reused."""
    found = log.read(log.log_start, 1 << 20, end=log.log_end, one_batch_at_least=True, wait=True)
    records = bytes(found.records)
    size = 0
    for position, header in iter_headers(records):
        if not crc_matches(records, position, header):
            raise Finding(f"{log.topic}: the batch at offset {header.base_offset} has another CRC than its bytes")
        size = position + header.size_bytes
    if size != len(records):
        raise Finding(f"{log.topic}: {len(records) - size} bytes are no batch")


@contextmanager
def without_chance() -> Iterator[None]:
    """Ids as they come in the same order every time, so that inputs can name them."""
    source = random.Random(0)
    with patch.object(uuid, "uuid4", lambda: uuid.UUID(int=source.getrandbits(128), version=4)):
        yield
