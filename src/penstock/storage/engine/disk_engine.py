"""All logs of a node: declared cheaply, opened on first use, flushed together, looked after in the background.

    declare   a partition exists: an entry in a dictionary, no file touched
    log       the open log; the first call recovers it, which is short (see `recovery.tail_recovery`)
    remove    the topic's directory goes to the trash in one rename, and is emptied by a thread

The engine drives itself: a thread brings a tick onto the event loop four times a second, in which `upkeep` starts what
is due. Everything else happens on the event loop, except what waits for the disk (thread) or runs Python at length
(worker process). Built by `DiskEngine.open`, which takes the directory's lock; ended by `close`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from penstock.config.settings import StorageSettings
from penstock.model.ids import PartitionId, TopicId
from penstock.runtime.clock import Clock, SystemClock
from penstock.runtime.files import Files, RealFiles
from penstock.runtime.worker import ProcessWorker, ThreadWorker, Worker
from penstock.storage.admission.write_gate import WriteGate
from penstock.storage.data_directory import DataDirectory
from penstock.storage.engine.catalog import Catalog, CataloguedLog
from penstock.storage.engine.declared_logs import Declared, UnopenedLogs
from penstock.storage.engine.maintenance import Upkeep
from penstock.storage.engine.trash import Trash
from penstock.storage.flush.file_cache import LruFileCache
from penstock.storage.flush.flushable import Flushable
from penstock.storage.flush.group_commit import FlushMode, GroupCommit
from penstock.storage.flush.sync_cost import SyncCost
from penstock.storage.interface import FlushListener, LogConfig, LogState
from penstock.storage.lock import DirectoryLock
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.log import DiskLog
from penstock.storage.log.recovered_log import RecoveredLog
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.observer import EngineObserver, SilentObserver

_log = logging.getLogger(__name__)


def open_disk(directory: Path, settings: StorageSettings, observer: EngineObserver) -> DiskEngine:
    """The storage engine `disk`: an `OpenStorage`."""
    return DiskEngine.open(directory, settings, observer=observer)


class DiskEngine:
    """Implements `storage.interface.StorageEngine`."""

    def __init__(
        self,
        *,
        data: DataDirectory,
        files: Files,
        metadata: MetadataStore,
        settings: StorageSettings,
        clock: Clock,
        worker: Worker,
        disk_thread: Worker,
        observer: EngineObserver | None = None,
        cost: SyncCost | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        """The directory is adopted and locked. `worker` runs Python at length, `disk_thread` waits for the disk."""
        self.data = data
        self.metadata = metadata
        self.settings = settings
        self.clock = clock
        self.worker = worker
        self.disk_thread = disk_thread
        self.observer = observer or SilentObserver()
        self.files = files
        self.file_cache = LruFileCache(files, settings.open_files_max)
        self.commit = GroupCommit(
            files,
            data.root,
            mode=FlushMode(settings.flush.value),
            interval_ms=settings.flush_interval_ms,
            observer=self.observer,
            cost=cost,
        )
        self.gate = WriteGate("the disk is nearly full")
        self._log_context = LogContext(
            files=files,
            cache=self.file_cache,
            commit=self.commit,
            gate=self.gate,
            journal=metadata.logs,
            observer=self.observer,
            verify_on_read=settings.verify_on_read.value,
            on_damage=self._found_damage,
        )
        self.catalog = catalog or Catalog(None)
        self.damaged: dict[PartitionId, str] = {}
        self.trash = Trash(files, data, metadata.topics)
        self.orphans: Sequence[Path] = []  # directories below topics/ that no topic and no deletion explains
        self._lock: DirectoryLock | None = None
        self._unopened = UnopenedLogs(files, data, metadata.logs, clock, self.observer)
        self._declared = self._unopened.declared
        self._logs: dict[PartitionId, DiskLog] = {}
        self._is_recovered = False
        self._on_flushed: FlushListener | None = None
        self._call_soon: Callable[..., object] | None = None
        self._upkeep = Upkeep(self)

    @classmethod
    def open(
        cls,
        root: Path,
        settings: StorageSettings,
        *,
        clock: Clock | None = None,
        files: Files | None = None,
        observer: EngineObserver | None = None,
    ) -> Self:
        """Take over a data directory. DataDirectoryError with a message for people if that cannot be."""
        files = files or RealFiles()
        data = DataDirectory(files, root)
        data.create()
        lock = DirectoryLock(data.lock)
        metadata = None
        try:
            data.adopt()
            metadata = MetadataStore(data.metadata, must_exist=data.has_records())
            engine = cls(
                data=data,
                files=files,
                metadata=metadata,
                settings=settings,
                clock=clock or SystemClock(),
                worker=ProcessWorker(),
                disk_thread=ThreadWorker("penstock-disk"),
                observer=observer,
                catalog=Catalog(data.catalog, trusted=data.was_stopped_cleanly()),
            )
        except BaseException:
            if metadata is not None:
                metadata.close()
            lock.release()
            raise
        engine._lock = lock
        return engine

    # --- partitions ------------------------------------------------------------------------------------

    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        self._declared[partition] = Declared(topic, config, leader_epoch)

    def configure(self, partition: PartitionId, config: LogConfig) -> None:
        self._declared[partition].config = config
        log = self._logs.get(partition)
        if log is not None:
            log.set_config(config)

    def log(self, partition: PartitionId) -> DiskLog:
        return self._logs.get(partition) or self._open_log(partition)

    def remove(self, partition: PartitionId) -> None:
        """The files of the whole topic go with the first of its partitions: only topics are deleted."""
        declared = self._unopened.forget(partition)
        self.damaged.pop(partition, None)
        self.catalog.forget(partition)
        log = self._logs.pop(partition, None)
        if log is not None:
            log.take_offline()
            self._upkeep.forget(log)
            self.commit.forget(log, lambda: self.file_cache.forget_below(log.directory))
        self.trash.discard(declared.topic, partition.topic_id)

    def is_leaving(self, topic_id: TopicId) -> bool:
        return self.trash.is_leaving(topic_id)

    def restart_at(self, partition: PartitionId, offset: int) -> None:
        log = self.log(partition)
        if log.is_saving or log.flushed < log.log_end or self._upkeep.is_busy(log):
            raise BlockingIOError(f"{log.topic}-{partition.partition} is busy")
        log.save_log_start(offset)
        self._upkeep.forget(log)
        log.restart_at(offset)

    def declared_partitions(self) -> Iterable[PartitionId]:
        return self._declared

    def open_logs(self) -> Iterable[DiskLog]:
        return self._logs.values()

    def is_current(self, log: DiskLog) -> bool:
        """Whether the log is still in use; its topic may have been deleted."""
        return self._logs.get(log.partition) is log

    def is_declared(self, partition: PartitionId) -> bool:
        return partition in self._declared

    def has_files(self, partition: PartitionId) -> bool:
        return self.files.exists(self._unopened.directory(partition))

    def is_open(self, partition: PartitionId) -> bool:
        return partition in self._logs

    @property
    def compaction_problems(self) -> dict[str, str]:
        """Why logs that should be compacted are not, by partition."""
        return self._upkeep.cleaner.setbacks.problems

    @property
    def scrubbed_bytes(self) -> int:
        return self._upkeep.scrubber.scrubbed_bytes

    @property
    def free_bytes(self) -> int:
        """Free space at the last look."""
        return self._upkeep.disk_watch.free_bytes

    def accepts_writes(self) -> bool:
        return self.gate.accepts_writes

    # --- running ---------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Any thread, once, when all partitions are declared. Waits for the disk, for long after a crash."""
        self.orphans = self.trash.sort_out(self._declared)
        for orphan in self.orphans:
            _log.error(
                "%s belongs to no topic that meta.db knows, and no deletion is recorded; it is left as it is:"
                " restore the meta.db that belongs to it, or move it away", orphan,
            )  # fmt: skip
        if not self.data.was_stopped_cleanly():
            self._unopened.recover_tails(self.worker)
        self.data.mark_running()
        self._is_recovered = True

    def start(
        self,
        on_flushed: FlushListener,
        call_soon: Callable[..., object],
        *,
        call_next: Callable[..., object] | None = None,
        after_round: Callable[[], None] | None = None,
        background: bool = True,
    ) -> None:
        """After `recover`, or waits for it. Without `background` the caller ticks and flushes."""
        self._on_flushed = on_flushed
        self._call_soon = call_soon
        if not self._is_recovered:
            self.recover()
        self._unopened.take_over_tails()
        self.commit.start(self._flushed, call_soon, call_next=call_next, after_round=after_round, in_thread=background)
        self._upkeep.start(in_thread=background)

    def call_soon(self, function: Callable[..., object], *args: Any) -> None:
        """Bring a call onto the event loop; dropped when the loop has ended."""
        assert self._call_soon is not None
        try:
            self._call_soon(function, *args)
        except RuntimeError:
            _log.debug("the event loop is closed")

    def tick(self) -> None:
        """Loop thread: start what is due. Called by the engine's own thread, or by a test."""
        self._upkeep.tick()

    def run_retention(self, now_ms: int) -> int:
        """Start deleting what retention allows, in all open logs; returns the segments that are on their way out."""
        return self._upkeep.run_retention(now_ms)

    def close(self) -> None:
        """Flush everything, write recovery points and the clean marker, release the lock. Waits for the disk."""
        self._upkeep.stop()
        self.worker.close()
        self.disk_thread.close()
        self._upkeep.go_on()
        self.commit.stop()
        clean = self._close_logs()
        self.catalog.record(
            CataloguedLog(log.topic, log.partition, [segment.entry() for segment in log.segments])
            for log in self._logs.values()
        )
        self.catalog.close()
        self.file_cache.close()
        self.metadata.close()
        if clean:
            try:
                self.data.mark_clean()
            except OSError as error:
                _log.error("not a clean stop: %s", error)
        if self._lock is not None:
            self._lock.release()

    # --- internals -------------------------------------------------------------------------------------

    def _open_log(self, partition: PartitionId) -> DiskLog:
        declared = self._declared[partition]
        started = time.perf_counter()
        recovered = self._unopened.found(partition)
        identity = LogIdentity(declared.topic, partition, self._unopened.directory(partition), self.data.topics)
        log = DiskLog(
            self._log_context, identity, recovered, config=declared.config, leader_epoch=declared.leader_epoch
        )
        self._logs[partition] = log
        self._report(log, recovered, time.perf_counter() - started)
        if log.unsnapshotted_bytes:
            self._upkeep.written(log)
        return log

    def _report(self, log: DiskLog, recovered: RecoveredLog, seconds: float) -> None:
        self.observer.recovered(seconds, recovered.scanned_bytes, recovered.cut_bytes)
        for note in recovered.notes:
            _log.warning("%s-%d: %s", log.topic, log.partition.partition, note)
        if recovered.damage is not None:
            self._damage(log.partition, recovered.damage.reason)

    def _found_damage(self, log: LogIdentity, position: int, reason: str) -> None:
        """Any thread: a read found bytes that are not what was written."""
        self.call_soon(self._damage, log.partition, f"{reason} at byte {position}")

    def _damage(self, partition: PartitionId, reason: str) -> None:
        log = self._logs.get(partition)
        if log is None:
            return
        self.observer.corrupt_batch()
        if log.partition not in self.damaged:
            self.damaged[log.partition] = reason
            _log.error(
                "%s-%d is damaged: %s; it is readable up to offset %d and refuses writes, see `penstock log verify`",
                log.topic, log.partition.partition, reason, log.readable_end,
            )  # fmt: skip

    def _flushed(self, log: Flushable) -> None:
        assert isinstance(log, DiskLog)
        if log.state is LogState.OFFLINE:
            self.report_failed(log)
            return
        self._upkeep.written(log)
        if self._on_flushed is not None:
            self._on_flushed(log)

    def report_failed(self, log: DiskLog) -> None:
        """Loop thread: a sync of this log failed."""
        _log.error("%s-%d is offline: a flush failed; a restart recovers it", log.topic, log.partition.partition)
        if self._on_flushed is not None:
            self._on_flushed(log)

    def _close_logs(self) -> bool:
        """Two syncs of the whole file system instead of several per log. False if something could not be saved."""
        handle = self.files.open_directory(self.data.root)
        try:
            self.files.sync_all(handle)
            for log in self._logs.values():
                log.close(synced=True)
            self.files.sync_all(handle)
        except OSError as error:
            _log.error("not a clean stop: %s", error)
            return False
        finally:
            handle.close()
        return not any(log.state is LogState.OFFLINE for log in self._logs.values())
