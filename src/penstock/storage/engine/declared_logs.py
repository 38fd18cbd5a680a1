"""The partitions that exist: what each is declared as, and what is needed to open its log.

    declare     a topic's name, configs and epoch: an entry in a dictionary, no file touched
    recover     any thread, at the start: long tails, in the worker process (`recovery.tail_recovery`)
    take over   loop thread: the reports of that
    recovered   loop thread, at the first use: the content of the directory; short, since long tails are done

Owned by `engine.disk_engine`; `engine.open_logs` opens the logs. Log starts and epochs are read once: a log is
opened on the event loop, where the store's lock must not be waited for.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from penstock.model.ids import PartitionId
from penstock.runtime.clock import Clock
from penstock.runtime.worker import Worker
from penstock.storage.admission.epochs import EpochEntry
from penstock.storage.data_directory import DataDirectory
from penstock.storage.interface import LogConfig
from penstock.storage.log.recovered_log import RecoveredLog
from penstock.storage.metadata.log_journal import StoredLogs
from penstock.storage.observer import EngineObserver
from penstock.storage.recovery.tail_recovery import (
    INLINE_SCAN_BYTES,
    TailAnswer,
    TailReport,
    TailRequest,
    recover_tails,
    tail_bytes,
)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Declared:
    topic: str
    config: LogConfig
    leader_epoch: int


class DeclaredLogs:
    """All partitions, open or not."""

    def __init__(self, data: DataDirectory, stored: StoredLogs, clock: Clock, observer: EngineObserver) -> None:
        self._files = data.files
        self._data = data
        self._clock = clock
        self._observer = observer
        self._log_starts = stored.log_starts()
        self._epochs = stored.all_epochs()
        self._tails: list[TailAnswer] = []
        self._recovered: dict[PartitionId, RecoveredLog] = {}
        self._declared: dict[PartitionId, Declared] = {}

    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        self._declared[partition] = Declared(topic, config, leader_epoch)

    def get(self, partition: PartitionId) -> Declared:
        """KeyError if it was never declared."""
        return self._declared[partition]

    def partitions(self) -> Collection[PartitionId]:
        return self._declared.keys()

    def is_declared(self, partition: PartitionId) -> bool:
        return partition in self._declared

    def has_files(self, partition: PartitionId) -> bool:
        return self._files.exists(self.directory(partition))

    def directory(self, partition: PartitionId) -> Path:
        return self._data.partition(self._declared[partition].topic, partition)

    def log_start(self, partition: PartitionId) -> int:
        return self._log_starts.get(partition, 0)

    def epochs(self, partition: PartitionId) -> list[EpochEntry]:
        return self._epochs.get(partition, [])

    def forget(self, partition: PartitionId) -> Declared:
        """Forget a partition whose topic was deleted."""
        self._recovered.pop(partition, None)
        self._log_starts.pop(partition, None)
        self._epochs.pop(partition, None)
        return self._declared.pop(partition)

    def recover_tails(self, worker: Worker) -> None:
        """Long ones, one after the other in the worker process; short ones are left to the first use."""
        handle = self._files.open_directory(self._data.root)
        try:
            self._files.sync_all(handle)
            requests = {
                partition: self._request(partition)
                for partition in self._declared
                if tail_bytes(self._files, self.directory(partition)) > INLINE_SCAN_BYTES
            }
            self._tails = list(recover_tails(worker, self._files, requests))
            if self._tails:
                self._files.sync_all(handle)
        finally:
            handle.close()

    def take_over_tails(self) -> None:
        for partition, report, error in self._tails:
            self._take_over(partition, report, error)
        self._tails = []

    def recovered(self, partition: PartitionId) -> RecoveredLog:
        """The content of the directory of a log that is to be opened."""
        return self._recovered.pop(partition, None) or self._request(partition).recover(self._files)

    def _request(self, partition: PartitionId) -> TailRequest:
        config = self._declared[partition].config
        return TailRequest(
            self.directory(partition),
            self.log_start(partition),
            self._clock.now_ms(),
            self.epochs(partition),
            config.cleanup_compact,
            config.index_interval_bytes,
        )

    def _take_over(self, partition: PartitionId, report: TailReport | None, error: BaseException | None) -> None:
        name = f"{self._declared[partition].topic}-{partition.partition}"
        if report is None:
            logger.error("%s: recovery in the worker process failed: %r", name, error)
            return
        self._observer.recovered(report.seconds, report.scanned_bytes, report.cut_bytes)
        for note in report.notes:
            logger.warning("%s: %s", name, note)
        if report.recovered is not None:
            self._recovered[partition] = report.recovered
