"""Compacts logs in memory: the dirtiest that is due, segment by segment, each result put in its place as it comes.

Decoding records happens in the worker process (`memory.compaction`); here is what the event loop does between
its answers. From the oldest on, as on disk: a tombstone never goes before the records it deletes.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any

from penstock.runtime.clock import Clock
from penstock.runtime.worker import Worker, WorkerDied
from penstock.storage.compaction.cleanable import FOREVER, Cleanable, active_is_overdue, measure_cleanable
from penstock.storage.compaction.report import CompactionReport, log_report
from penstock.storage.interface import LogState
from penstock.storage.loop_calls import LoopCalls
from penstock.storage.memory import compaction
from penstock.storage.memory.compaction import CleaningCounts, CleaningRules, RunLost
from penstock.storage.memory.log import MemoryLog
from penstock.storage.memory.segment import MemorySegment
from penstock.storage.observer import EngineObserver

logger = logging.getLogger(__name__)

Run = Generator[Callable[[], Any], Any, None]
"""Yields what the worker process has to do, and is sent what came of it."""


class MemoryCleaner:
    """Owned by the engine. Loop thread."""

    def __init__(
        self,
        open_logs: Callable[[], Iterable[MemoryLog]],
        clock: Clock,
        worker: Worker,
        loop: LoopCalls,
        observer: EngineObserver,
        *,
        interval_ms: int,
    ) -> None:
        self._open_logs = open_logs
        self._clock = clock
        self._worker = worker
        self._loop = loop
        self._observer = observer
        self._interval_ms = interval_ms
        self._running: Run | None = None
        self._checked_ms = -FOREVER
        self._uncleanable: set[MemoryLog] = set()

    def tick(self, now_ms: int) -> None:
        """`now_ms`: a clock that does not jump."""
        if self._running is None and now_ms - self._checked_ms >= self._interval_ms and not self.run():
            self._checked_ms = now_ms

    def run(self) -> bool:
        """Start on the dirtiest log that is due; False if there is none."""
        now_ms = self._clock.now_ms()
        due: list[tuple[MemoryLog, Cleanable[MemorySegment]]] = []
        for log in self._open_logs():
            if log.config.cleanup_compact and log not in self._uncleanable:
                if active_is_overdue(log, now_ms):
                    log.roll()
                cleanable = measure_cleanable(log, log.first_dirty, now_ms)
                if cleanable.is_due(log.config):
                    due.append((log, cleanable))
        if not due:
            return False
        log, cleanable = max(due, key=lambda item: item[1].ratio)
        self._running = self._compact(log, cleanable, now_ms)
        self._go_on(log, None, None)
        return True

    def stop(self) -> None:
        self._running = None

    def forget(self, log: MemoryLog) -> None:
        self._uncleanable.discard(log)

    def _compact(self, log: MemoryLog, cleanable: Cleanable[MemorySegment], now_ms: int) -> Run:
        run_id = uuid.uuid4().hex
        started_ms = self._clock.monotonic_ms()
        bytes_before = log.size_bytes
        end = cleanable.segments[-1].end_offset
        rules = CleaningRules(
            cleanable.first_dirty,
            log.producer_last_offsets(),
            now_ms,
            log.config.delete_retention_ms,
            aborted=list(log.aborted_entries(0, end)),
        )
        yield partial(compaction.begin, run_id, rules)
        covered: list[MemorySegment] = []
        for segment in cleanable.segments:
            covered.append(segment)
            is_dirty = segment.end_offset > cleanable.first_dirty
            if is_dirty and not (yield partial(compaction.map_segment, run_id, segment)):
                break
        for segment in covered:
            cleaned: MemorySegment | None = yield partial(compaction.clean_segment, run_id, segment)
            if log.state is not LogState.ONLINE:
                return
            log.put_cleaned(segment, cleaned or segment)
        counts: CleaningCounts = yield partial(compaction.end, run_id)
        log.first_dirty = counts.clean_end
        seconds = (self._clock.monotonic_ms() - started_ms) / 1000
        self._observer.compacted(seconds)
        log_report(log, CompactionReport((), counts.clean_end, bytes_before, log.size_bytes, *counts[1:], seconds))

    def _go_on(self, log: MemoryLog, result: Any, error: BaseException | None) -> None:
        if self._running is None:
            return  # stopped
        try:
            task = self._running.send(result) if error is None else self._running.throw(error)
        except StopIteration:
            self._running = None
        except (WorkerDied, RunLost) as lost:
            self._running = None
            logger.warning("%s-%d: compaction begins again: %r", log.topic, log.partition.partition, lost)
        except Exception as failure:
            self._running = None
            self._uncleanable.add(log)
            logger.error("%s-%d is not compacted any more: %r", log.topic, log.partition.partition, failure)
        else:
            self._worker.submit(lambda *answer: self._loop.soon(self._go_on, log, *answer), task)
