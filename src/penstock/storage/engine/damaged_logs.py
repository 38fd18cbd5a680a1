"""Logs with bytes that are not what was written, and why. Reads, the scrub and compaction report from any thread."""

from __future__ import annotations

import logging

from penstock.model.ids import PartitionId
from penstock.storage.engine.declared_logs import DeclaredLogs
from penstock.storage.log.context import DamageFound, LogIdentity
from penstock.storage.loop_calls import LoopCalls
from penstock.storage.observer import EngineObserver

logger = logging.getLogger(__name__)


class DamagedLogs:
    """`reasons` has every damaged log of a partition that exists. Loop thread, but for `report`."""

    def __init__(self, declared: DeclaredLogs, loop: LoopCalls, observer: EngineObserver) -> None:
        self._declared = declared
        self._loop = loop
        self._observer = observer
        self.reasons: dict[PartitionId, str] = {}

    def report(self, log: LogIdentity, found: DamageFound) -> None:
        """Record damage that a log has found and reported through its `OnDamage`. Any thread."""
        self._loop.soon(self.note, log, f"{found.reason} at byte {found.position}", found.readable_end)

    def note(self, log: LogIdentity, reason: str, readable_end: int) -> None:
        """Count the damage, and tell the operator of the first in each log."""
        if not self._declared.is_declared(log.partition):
            return  # the topic was deleted meanwhile
        self._observer.corrupt_batch()
        if log.partition not in self.reasons:
            self.reasons[log.partition] = reason
            logger.error(
                "%s is damaged: %s; it is readable up to offset %d and refuses writes, see `penstock log verify`",
                log.name, reason, readable_end,
            )  # fmt: skip

    def forget(self, partition: PartitionId) -> None:
        self.reasons.pop(partition, None)
