"""The log engine without a disk: the same logs, the same rules, gone with the process.

For tests, for caches, for topics whose records are not needed after a restart. It drives itself as the engine on disk
does: a thread brings a tick onto the event loop four times a second, which starts retention and compaction when they
are due. `storage.memory_bytes_max` is to it what free space is to the disk.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from penstock.config.settings import StorageSettings
from penstock.model.ids import PartitionId, TopicId
from penstock.runtime.clock import Clock, SystemClock
from penstock.runtime.ticker import Ticker
from penstock.runtime.worker import ProcessWorker, Worker
from penstock.storage.interface import FlushListener, LogConfig
from penstock.storage.loop_calls import LoopCalls
from penstock.storage.memory.budget import MemoryBudget
from penstock.storage.memory.cleaner import MemoryCleaner
from penstock.storage.memory.log import MemoryLog
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.observer import EngineObserver, SilentObserver
from penstock.storage.pace import LOGS_SEEN_PER_TICK, TICK_SECONDS

logger = logging.getLogger(__name__)


def open_memory(directory: Path, settings: StorageSettings, observer: EngineObserver) -> MemoryEngine:
    """The storage engine `memory`: an `OpenStorage`. The directory is not touched."""
    return MemoryEngine(settings, observer=observer, metadata=MetadataStore(None))


class MemoryEngine:
    """Implements `storage.interface.StorageEngine`."""

    def __init__(
        self,
        settings: StorageSettings,
        *,
        clock: Clock | None = None,
        worker: Worker | None = None,
        observer: EngineObserver | None = None,
        metadata: MetadataStore | None = None,
    ) -> None:
        """`worker` runs Python at length."""
        self.settings = settings
        self.metadata = metadata or MetadataStore(None)
        self.clock = clock or SystemClock()
        self.worker = worker or ProcessWorker()
        self.observer = observer or SilentObserver()
        self._budget = MemoryBudget(settings.memory_bytes_max)
        self._logs: dict[PartitionId, MemoryLog] = {}
        self._unseen: dict[MemoryLog, None] = {}
        self._on_flushed: FlushListener | None = None
        self._loop = LoopCalls()
        self._cleaner = MemoryCleaner(
            self.open_logs,
            self.clock,
            self.worker,
            self._loop,
            self.observer,
            interval_ms=settings.compaction_check_interval_ms,
        )
        self._ticker = Ticker("penstock-maintenance", TICK_SECONDS, lambda: self._loop.soon(self.tick))
        self._retention_ms = self.clock.monotonic_ms()
        self._aging: deque[MemoryLog] = deque()
        self._is_closed = False

    # --- partitions ------------------------------------------------------------------------------------

    def log(self, partition: PartitionId) -> MemoryLog:
        return self._logs[partition]

    def open_logs(self) -> Iterable[MemoryLog]:
        return self._logs.values()

    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        if partition in self._logs:
            self._logs[partition].begin_epoch(leader_epoch)
        else:
            self._logs[partition] = MemoryLog(topic, partition, config, leader_epoch, self._budget, self)

    def configure(self, partition: PartitionId, config: LogConfig) -> None:
        self._logs[partition].set_config(config)

    def remove(self, partition: PartitionId) -> None:
        log = self._logs.pop(partition, None)
        if log is not None:
            log.remove()
            self._unseen.pop(log, None)
            self._cleaner.forget(log)

    def is_leaving(self, topic_id: TopicId) -> bool:
        return False

    def restart_at(self, partition: PartitionId, offset: int) -> None:
        self._cleaner.forget(self._logs[partition])
        self._logs[partition].restart_at(offset)

    @property
    def used_bytes(self) -> int:
        """Record batches in memory."""
        return self._budget.used_bytes

    def problems(self) -> dict[str, list[str]]:
        return {}

    def accepts_writes(self) -> bool:
        return self._budget.accepts_writes

    # --- running ---------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Do nothing: memory has nothing to recover."""

    def start(
        self,
        on_flushed: FlushListener,
        call_soon: Callable[..., object],
        *,
        call_next: Callable[..., object] | None = None,
        after_round: Callable[[], None] | None = None,
        background: bool = True,
    ) -> None:
        """Start the engine. Without `background` the caller ticks."""
        self._on_flushed = on_flushed
        self._loop.start(call_soon)
        if background:
            self._ticker.start()

    def tick(self) -> None:
        """Do, or start, what is due. Not all logs at once: ten thousand would stall the loop. Loop thread."""
        if self._is_closed:
            return
        now_ms = self.clock.monotonic_ms()
        if not self._aging and now_ms - self._retention_ms >= self.settings.retention_check_interval_ms:
            self._retention_ms = now_ms
            self._aging = deque(self._logs.values())
        for _ in range(min(LOGS_SEEN_PER_TICK, len(self._aging))):
            self.observer.segments_removed(self._aging.popleft().run_retention(self.clock.now_ms()))
        self._cleaner.tick(now_ms)

    def run_retention(self, now_ms: int) -> int:
        return sum(log.run_retention(now_ms) for log in self._logs.values())

    def close(self) -> None:
        self._is_closed = True
        self._ticker.stop()
        self._cleaner.stop()
        self.worker.close()
        self._show_all()
        self.metadata.close()

    # --- internals -------------------------------------------------------------------------------------

    def mark(self, log: MemoryLog, size_bytes: int) -> None:
        """Show what was appended to a log, soon."""
        if not self._unseen and self._loop.is_started:
            self._loop.soon(self._show_all)
        self._unseen[log] = None

    def _show_all(self) -> None:
        unseen, self._unseen = self._unseen, {}
        for log in unseen:
            log.show_all()
            if self._on_flushed is not None:
                self._on_flushed(log)
