"""Compacts logs in memory: the dirtiest that is due, segment by segment, each result put in its place as it comes.

Decoding records happens in the worker process (`memory.compaction`); here is what the event loop does between
its answers. From the oldest on, as on disk: a tombstone never goes before the records it deletes.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.runtime.worker import WorkerDied
from penstock.storage.compaction.cleanable import FOREVER, Dirt, active_is_overdue, measure_dirt
from penstock.storage.compaction.cleaner import tell_compacted
from penstock.storage.compaction.compaction import CompactionReport
from penstock.storage.interface import LogState
from penstock.storage.memory import compaction
from penstock.storage.memory.compaction import CleaningRules, CleaningTally, RunLost
from penstock.storage.memory.log import MemoryLog
from penstock.storage.memory.segment import MemorySegment

if TYPE_CHECKING:
    from penstock.storage.memory.engine import MemoryEngine

_log = logging.getLogger(__name__)

Run = Generator[Callable[[], Any], Any, None]
"""Yields what the worker process has to do, and is sent what came of it."""


class MemoryCleaner:
    """Owned by the engine. Loop thread."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine
        self._running: Run | None = None
        self._checked_ms = -FOREVER
        self._uncleanable: set[MemoryLog] = set()

    def tick(self, now_ms: int) -> None:
        """`now_ms`: a clock that does not jump."""
        interval_ms = self._engine.settings.compaction_check_interval_ms
        if self._running is None and now_ms - self._checked_ms >= interval_ms and not self.run():
            self._checked_ms = now_ms

    def run(self) -> bool:
        """Start on the dirtiest log that is due; False if there is none."""
        now_ms = self._engine.clock.now_ms()
        due: list[tuple[MemoryLog, Dirt[MemorySegment]]] = []
        for log in self._engine.open_logs():
            if log.config.cleanup_compact and log not in self._uncleanable:
                if active_is_overdue(log, now_ms):
                    log.roll()
                dirt = measure_dirt(log, log.first_dirty, now_ms)
                if dirt.is_due(log.config):
                    due.append((log, dirt))
        if not due:
            return False
        log, dirt = max(due, key=lambda item: item[1].ratio)
        self._running = self._compact(log, dirt, now_ms)
        self._go_on(log, None, None)
        return True

    def stop(self) -> None:
        self._running = None

    def forget(self, log: MemoryLog) -> None:
        self._uncleanable.discard(log)

    def _compact(self, log: MemoryLog, dirt: Dirt[MemorySegment], now_ms: int) -> Run:
        run_id = uuid.uuid4().hex
        started_ms = self._engine.clock.monotonic_ms()
        bytes_before = log.size_bytes
        end = dirt.segments[-1].end_offset
        rules = CleaningRules(
            dirt.first_dirty,
            log.producer_last_offsets(),
            now_ms,
            log.config.delete_retention_ms,
            aborted=list(log.aborted_entries(0, end)),
        )
        yield partial(compaction.begin, run_id, rules)
        covered: list[MemorySegment] = []
        for segment in dirt.segments:
            covered.append(segment)
            is_dirty = segment.end_offset > dirt.first_dirty
            if is_dirty and not (yield partial(compaction.map_segment, run_id, segment)):
                break
        for segment in covered:
            cleaned: MemorySegment | None = yield partial(compaction.clean_segment, run_id, segment)
            if log.state is not LogState.ONLINE:
                return
            log.put_cleaned(segment, cleaned or segment)
        tally: CleaningTally = yield partial(compaction.end, run_id)
        log.first_dirty = tally.clean_end
        seconds = (self._engine.clock.monotonic_ms() - started_ms) / 1000
        self._engine.observer.compacted(seconds)
        tell_compacted(log, CompactionReport((), tally.clean_end, bytes_before, log.size_bytes, *tally[1:], seconds))

    def _go_on(self, log: MemoryLog, result: Any, error: BaseException | None) -> None:
        if self._running is None:
            return  # stopped
        try:
            task = self._running.send(result) if error is None else self._running.throw(error)
        except StopIteration:
            self._running = None
        except (WorkerDied, RunLost) as lost:
            self._running = None
            _log.warning("%s-%d: compaction begins again: %r", log.topic, log.partition.partition, lost)
        except Exception as failure:
            self._running = None
            self._uncleanable.add(log)
            _log.error("%s-%d is not compacted any more: %r", log.topic, log.partition.partition, failure)
        else:
            engine = self._engine
            engine.worker.submit(lambda *answer: engine.call_soon(self._go_on, log, *answer), task)
