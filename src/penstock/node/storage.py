"""The storage of a node: metadata and the log engine, on disk or in memory, as one thing that opens and closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from penstock.config.settings import Settings, StorageEngine
from penstock.node.errors import StartError
from penstock.observability.metrics import BrokerMetrics
from penstock.storage.data_directory import DataDirectoryError
from penstock.storage.interface import FlushListener, LogEngine
from penstock.storage.manager import DiskEngine
from penstock.storage.memory import MemoryEngine
from penstock.storage.metadata import MetadataStore


@dataclass(slots=True)
class Storage:
    metadata: MetadataStore
    engine: LogEngine

    async def recover(self) -> None:
        """What a crash left is brought into order in a thread and in the worker process: the event loop goes on."""
        if isinstance(self.engine, DiskEngine):
            await asyncio.to_thread(self.engine.recover)

    def start(
        self, on_flushed: FlushListener, loop: asyncio.AbstractEventLoop, *, after_round: Callable[[], None]
    ) -> None:
        self.engine.start(on_flushed, loop.call_soon_threadsafe, call_next=loop.call_soon, after_round=after_round)

    async def close(self) -> None:
        self.engine.close()
        self.metadata.close()


def open_storage(settings: Settings, metrics: BrokerMetrics) -> Storage:
    """StartError if the data directory cannot be used; its message says why."""
    if settings.storage.engine is StorageEngine.MEMORY:
        return Storage(MetadataStore(None), MemoryEngine(settings.storage, observer=metrics))
    try:
        engine = DiskEngine.open(settings.node.data_dir, settings.storage, observer=metrics)
    except DataDirectoryError as error:
        raise StartError(str(error)) from error
    return Storage(engine.metadata, engine)
