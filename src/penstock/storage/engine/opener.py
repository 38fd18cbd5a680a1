"""Opening the logs that nobody has asked for since the start, a few at a time while others are served.

Only an open log is found by retention, compaction and the figures of sizes. Each takes a fraction of a millisecond, and
there may be ten thousand: on the event loop in turns, until all are open. Then it has done its work for good.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.model.ids import PartitionId
from penstock.runtime.ticker import Ticker

if TYPE_CHECKING:
    from penstock.storage.engine.disk_engine import DiskEngine

_log = logging.getLogger(__name__)

# Ten thousand logs in half a minute, at less than a tenth of one core.
INTERVAL_SECONDS = 0.025
TURN_NS = 2_000_000


class Opener:
    """Goes over the partitions that were there at the start. Loop thread."""

    def __init__(self, engine: DiskEngine) -> None:
        self._engine = engine
        self._unvisited: Iterator[PartitionId] = iter(())
        self._ticker = Ticker("penstock-opener", INTERVAL_SECONDS, lambda: engine.call_soon(self.tick))

    def start(self, *, in_thread: bool) -> None:
        self._unvisited = iter(list(self._engine.declared_partitions()))
        if in_thread:
            self._ticker.start()

    def stop(self) -> None:
        self._unvisited = iter(())
        self._ticker.stop()

    def tick(self) -> None:
        turn_end = time.perf_counter_ns() + TURN_NS
        for partition in self._unvisited:
            self._open(partition)
            if time.perf_counter_ns() > turn_end:
                return
        self._ticker.stop()

    def _open(self, partition: PartitionId) -> None:
        engine = self._engine
        if engine.is_open(partition) or not engine.is_declared(partition) or not engine.has_files(partition):
            return
        try:
            engine.log(partition)
        except OSError as error:
            _log.error("%s cannot be opened: %s", partition, error)
