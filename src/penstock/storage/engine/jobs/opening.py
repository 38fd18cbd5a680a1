"""Opening the logs that no client has asked for since the start, a few at a time while others are served.

Only an open log is found by retention, compaction and the figures of sizes. Each takes a fraction of a millisecond, and
there may be ten thousand: on the event loop in turns, until all are open. Then the job is done for good.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator

from penstock.model.ids import PartitionId
from penstock.model.limits import TURN_NS
from penstock.runtime.ticker import Ticker
from penstock.storage.engine.declared_logs import DeclaredLogs
from penstock.storage.engine.jobs.job import Job
from penstock.storage.loop_calls import LoopCalls

logger = logging.getLogger(__name__)

# Ten thousand logs in half a minute, at less than a tenth of one core.
INTERVAL_SECONDS = 0.025


class Opening(Job):
    """Goes over the partitions that were declared at the start. Has a ticker of its own, faster than the engine's."""

    def __init__(self, declared: DeclaredLogs, loop: LoopCalls, open_log: Callable[[PartitionId], object]) -> None:
        """`open_log` opens a log unless it is open."""
        self._declared = declared
        self._open_log = open_log
        self._unvisited: Iterator[PartitionId] = iter(())
        self._ticker = Ticker("penstock-opener", INTERVAL_SECONDS, lambda: loop.soon(self._open_some))

    def start(self, now_ms: int, *, in_thread: bool) -> None:
        self._unvisited = iter(list(self._declared.partitions()))
        if in_thread:
            self._ticker.start()

    def stop(self) -> None:
        self._unvisited = iter(())
        self._ticker.stop()

    def tick(self, now_ms: int) -> None:
        self._open_some()

    def _open_some(self) -> None:
        turn_end = time.perf_counter_ns() + TURN_NS
        for partition in self._unvisited:
            self._open(partition)
            if time.perf_counter_ns() > turn_end:
                return
        self._ticker.stop()

    def _open(self, partition: PartitionId) -> None:
        if not self._declared.is_declared(partition) or not self._declared.has_files(partition):
            return
        try:
            self._open_log(partition)
        except OSError as error:
            logger.error("%s cannot be opened: %s", partition, error)
