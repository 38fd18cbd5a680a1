"""The world around a disk engine: time, the places where work is done, and the metrics it reports to."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.runtime.clock import Clock
from penstock.runtime.worker import Worker
from penstock.storage.flush.sync_cost import SyncCost
from penstock.storage.observer import EngineObserver


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineContext:
    """`worker` runs Python at length in another process, `disk_thread` waits for the disk."""

    clock: Clock
    worker: Worker
    disk_thread: Worker
    observer: EngineObserver
    cost: SyncCost | None = None
