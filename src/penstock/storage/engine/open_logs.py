"""The logs that are open: each is recovered and opened at its first use, which is short (`recovery.tail_recovery`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path

from penstock.model.ids import PartitionId
from penstock.storage.engine.damaged_logs import DamagedLogs
from penstock.storage.engine.declared_logs import DeclaredLogs
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.log import DiskLog
from penstock.storage.log.recovered_log import RecoveredLog

logger = logging.getLogger(__name__)


class OpenLogs:
    """Logs that are open. `context` is what all logs share, `root` the directory of their directories. Loop thread."""

    def __init__(self, context: LogContext, declared: DeclaredLogs, damaged: DamagedLogs, root: Path) -> None:
        self._context = context
        self._declared = declared
        self._damaged = damaged
        self._root = root
        self._logs: dict[PartitionId, DiskLog] = {}

    def get(self, partition: PartitionId) -> DiskLog | None:
        """Return the log of a partition; None if it is not open."""
        return self._logs.get(partition)

    def all(self) -> Iterable[DiskLog]:
        return self._logs.values()

    def is_current(self, log: DiskLog) -> bool:
        """Whether the log is still in use; its topic may have been deleted."""
        return self._logs.get(log.partition) is log

    def open(self, partition: PartitionId) -> DiskLog:
        """Recover the directory and open the log in it. KeyError if it was never declared."""
        declared = self._declared.get(partition)
        started = time.perf_counter()
        recovered = self._declared.recovered(partition)
        identity = LogIdentity(declared.topic, partition, self._declared.directory(partition), self._root)
        log = DiskLog(self._context, identity, recovered, config=declared.config, leader_epoch=declared.leader_epoch)
        self._logs[partition] = log
        self._report(identity, recovered, time.perf_counter() - started)
        return log

    def remove(self, partition: PartitionId) -> DiskLog | None:
        """Forget the log of a deleted topic; None if it was not open."""
        log = self._logs.pop(partition, None)
        if log is not None:
            log.take_offline()
        return log

    def _report(self, identity: LogIdentity, recovered: RecoveredLog, seconds: float) -> None:
        self._context.observer.recovered(seconds, recovered.scanned_bytes, recovered.cut_bytes)
        for note in recovered.notes:
            logger.warning("%s: %s", identity.name, note)
        if recovered.damage is not None:
            self._damaged.note(identity, recovered.damage.reason, recovered.damage.readable_end)
