"""The storage of a node: the engine that `storage.engine` names, opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from penstock.config.settings import Settings
from penstock.node.errors import StartError
from penstock.observability.metrics import BrokerMetrics
from penstock.runtime.plugins import UnknownImplementation, load_implementation
from penstock.storage.data_directory import DataDirectoryError
from penstock.storage.interface import FlushListener, OpenStorage, StorageEngine
from penstock.storage.metadata.store import MetadataStore

ENGINES = {
    "disk": "penstock.storage.engine.disk_engine:open_disk",
    "memory": "penstock.storage.memory.engine:open_memory",
}


@dataclass(slots=True)
class Storage:
    engine: StorageEngine

    @property
    def metadata(self) -> MetadataStore:
        return self.engine.metadata

    async def recover(self) -> None:
        """Recovery after a crash runs in a thread and in the worker process: the event loop goes on."""
        await asyncio.to_thread(self.engine.recover)

    def start(
        self, on_flushed: FlushListener, loop: asyncio.AbstractEventLoop, *, after_round: Callable[[], None]
    ) -> None:
        self.engine.start(on_flushed, loop.call_soon_threadsafe, call_next=loop.call_soon, after_round=after_round)

    async def close(self) -> None:
        self.engine.close()


def open_storage(settings: Settings, metrics: BrokerMetrics) -> Storage:
    """StartError if there is no such engine or the data directory cannot be used; its message says why."""
    try:
        name = settings.storage.engine
        open_engine: OpenStorage = load_implementation("penstock.storage", name, ENGINES, "storage.engine")
        return Storage(open_engine(settings.node.data_dir, settings.storage, metrics))
    except (UnknownImplementation, DataDirectoryError) as error:
        raise StartError(str(error)) from error
