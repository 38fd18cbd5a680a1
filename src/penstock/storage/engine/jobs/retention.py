"""Retention of all logs: a walk over them every so often, a few at each tick. The rules are `log.retention`."""

from __future__ import annotations

import logging
from collections import deque

from penstock.storage.engine.jobs.job import Done, Job, MaintenanceHost
from penstock.storage.log.log import DiskLog
from penstock.storage.log.retention import RetentionPlan, plan_retention, remove_file
from penstock.storage.metadata.topics import UnknownTopic
from penstock.storage.pace import LOGS_SEEN_PER_TICK

logger = logging.getLogger(__name__)


class Retention(Job):
    """The walk, and the segments that are on their way out."""

    def __init__(self, host: MaintenanceHost, *, interval_ms: int) -> None:
        self._host = host
        self._interval_ms = interval_ms
        self._begun_ms = 0
        self._unvisited: deque[DiskLog] = deque()

    def start(self, now_ms: int, *, in_thread: bool) -> None:
        self._begun_ms = now_ms

    def tick(self, now_ms: int) -> None:
        # A walk over all logs ends before the next one begins: with many logs it takes longer than the interval.
        if not self._unvisited and now_ms - self._begun_ms >= self._interval_ms:
            self._begun_ms = now_ms
            self._unvisited = deque(self._host.open_logs())
        for _ in range(min(LOGS_SEEN_PER_TICK, len(self._unvisited))):
            self._expire(self._unvisited.popleft(), self._host.clock.now_ms())

    def run(self, now_ms: int) -> int:
        """All logs at once; returns the segments that are on their way out."""
        return sum(self._expire(log, now_ms) for log in list(self._host.open_logs()))

    def _expire(self, log: DiskLog, now_ms: int) -> int:
        if self._host.is_busy(log) or not self._host.is_current(log):
            return 0
        try:
            plan = plan_retention(log, now_ms)
        except OSError as error:
            logger.warning("%s: retention: %s", log.name, error)
            return 0
        if plan is None:
            return 0
        self._host.run_for(log, self._durable(log, plan), plan.make_durable)
        return len(plan.segments)

    def _durable(self, log: DiskLog, plan: RetentionPlan) -> Done:
        def done(error: BaseException | None) -> None:
            if isinstance(error, UnknownTopic):
                return  # deleted meanwhile: the files go with the topic
            if error is not None:
                logger.warning("%s: retention: %s", log.name, error)
                if plan.leaves_doubt(error):
                    self._host.sync_failed(log, error)
                else:
                    plan.give_up()
                return
            paths = plan.finish()
            self._host.observer.segments_removed(len(plan.segments) if paths else 0)
            for path in paths:
                self._host.run_in_thread(_warn, remove_file, log, path)

        return done


def _warn(error: BaseException | None) -> None:
    if error is not None:
        logger.warning("%s", error)
