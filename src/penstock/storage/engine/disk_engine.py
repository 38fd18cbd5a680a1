"""All logs of a node: declared cheaply, opened on first use, flushed together, maintained in the background.

    declare   a partition exists: an entry in a dictionary, no file touched
    log       the open log; the first call recovers it, which is short (see `recovery.tail_recovery`)
    remove    the topic's directory goes to the trash in one rename, and is emptied by a thread

The engine drives itself: a thread brings a tick onto the event loop four times a second, in which its jobs
(`engine.jobs`) start what is due. Everything else happens on the event loop, except work that waits for the disk
(thread) or runs Python at length (worker process). Built by `DiskEngine.open`, which takes the directory's lock; ended
by `close`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self, cast

from penstock.config.settings import StorageSettings
from penstock.model.ids import PartitionId, TopicId
from penstock.runtime.clock import Clock, SystemClock
from penstock.runtime.files import Files, RealFiles
from penstock.runtime.worker import ProcessWorker, ThreadWorker
from penstock.storage.admission.write_gate import WriteGate
from penstock.storage.data_directory import DataDirectory
from penstock.storage.engine.catalog import Catalog, CataloguedLog
from penstock.storage.engine.context import EngineContext
from penstock.storage.engine.damaged_logs import DamagedLogs
from penstock.storage.engine.declared_logs import DeclaredLogs
from penstock.storage.engine.jobs.checkpoints import Checkpoints
from penstock.storage.engine.jobs.compaction import Compaction
from penstock.storage.engine.jobs.free_space import FreeSpace
from penstock.storage.engine.jobs.opening import Opening
from penstock.storage.engine.jobs.retention import Retention
from penstock.storage.engine.jobs.scrub import Scrub
from penstock.storage.engine.jobs.trash import EmptyTrash
from penstock.storage.engine.log_work import LogWork
from penstock.storage.engine.maintenance import Maintenance
from penstock.storage.engine.open_logs import OpenLogs
from penstock.storage.engine.trash import Trash
from penstock.storage.flush.file_cache import LruFileCache
from penstock.storage.flush.flushable import Flushable
from penstock.storage.flush.group_commit import FlushMode, GroupCommit, OnFlushed
from penstock.storage.interface import FlushListener, LogConfig, LogState
from penstock.storage.lock import DirectoryLock
from penstock.storage.log.context import LogContext
from penstock.storage.log.log import DiskLog
from penstock.storage.loop_calls import LoopCalls
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.observer import EngineObserver, SilentObserver

logger = logging.getLogger(__name__)

_OFFLINE: Final = LogState.OFFLINE  # looked up once: this is asked for every flush


def open_disk(directory: Path, settings: StorageSettings, observer: EngineObserver) -> DiskEngine:
    """The storage engine `disk`: an `OpenStorage`."""
    return DiskEngine.open(directory, settings, observer=observer)


class DiskEngine:
    """Implements `storage.interface.StorageEngine`."""

    def __init__(
        self,
        data: DataDirectory,
        metadata: MetadataStore,
        settings: StorageSettings,
        context: EngineContext,
        *,
        catalog: Catalog | None = None,
        lock: DirectoryLock | None = None,
    ) -> None:
        """Open an adopted directory, locked by `lock` if that is given."""
        self.data = data
        self.metadata = metadata
        self.settings = settings
        self.context = context
        self.catalog = catalog or Catalog(None)
        self._lock = lock
        self._is_recovered = False
        self._on_flushed: FlushListener | None = None
        self.orphans: Sequence[Path] = []  # directories below topics/ that no topic and no deletion explains
        self._loop = LoopCalls()
        self.gate = WriteGate("the disk is nearly full")
        self.file_cache = LruFileCache(data.files, settings.open_files_max)
        self.commit = GroupCommit(
            data.files,
            data.root,
            mode=FlushMode(settings.flush.value),
            interval_ms=settings.flush_interval_ms,
            observer=context.observer,
            cost=context.cost,
        )
        self.trash = Trash(data, metadata.topics)
        self._declared = DeclaredLogs(data, metadata.logs, context.clock, context.observer)
        self._damaged = DamagedLogs(self._declared, self._loop, context.observer)
        self._logs = self._new_logs()
        self._work = LogWork(context, data.files, self._logs, self._loop, self._failed)
        self._checkpoints = Checkpoints(
            self._work, interval_ms=settings.checkpoint_interval_ms, bytes_max=settings.checkpoint_bytes
        )
        self._retention = Retention(self._work, interval_ms=settings.retention_check_interval_ms)
        self.free_space = FreeSpace(self._work, data, self.gate, settings)
        self._compaction = Compaction(self._work, settings, self._checkpoints, self.free_space, self.catalog)
        self.scrub = Scrub(self._work, bytes_per_second=settings.scrub_bytes_per_second)
        self.maintenance = Maintenance(
            self._work,
            [
                self._checkpoints,
                self._retention,
                self.free_space,
                EmptyTrash(self._work, self.trash),
                self._compaction,
                self.scrub,
                Opening(self._declared, self._loop, self.log),
            ],
        )

    def _new_logs(self) -> OpenLogs:
        context = LogContext(
            files=self.data.files,
            cache=self.file_cache,
            commit=self.commit,
            gate=self.gate,
            journal=self.metadata.logs,
            observer=self.context.observer,
            verify_on_read=self.settings.verify_on_read.value,
            on_damage=self._damaged.report,
        )
        return OpenLogs(context, self._declared, self._damaged, self.data.topics)

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
        data = DataDirectory(files or RealFiles(), root)
        data.create()
        lock = DirectoryLock(data.lock)
        metadata = None
        try:
            data.adopt()
            metadata = MetadataStore(data.metadata, must_exist=data.has_records())
            context = EngineContext(
                clock=clock or SystemClock(),
                worker=ProcessWorker(),
                disk_thread=ThreadWorker("penstock-disk"),
                observer=observer or SilentObserver(),
            )
            catalog = Catalog(data.catalog, trusted=data.was_stopped_cleanly())
            return cls(data, metadata, settings, context, catalog=catalog, lock=lock)
        except BaseException:
            if metadata is not None:
                metadata.close()
            lock.release()
            raise

    # --- partitions ------------------------------------------------------------------------------------

    def declare(self, topic: str, partition: PartitionId, config: LogConfig, leader_epoch: int) -> None:
        self._declared.declare(topic, partition, config, leader_epoch)

    def configure(self, partition: PartitionId, config: LogConfig) -> None:
        self._declared.get(partition).config = config
        log = self._logs.get(partition)
        if log is not None:
            log.set_config(config)

    def log(self, partition: PartitionId) -> DiskLog:
        log = self._logs.get(partition)
        if log is None:
            log = self._logs.open(partition)
            if log.unsnapshotted_bytes:
                self._checkpoints.written(log)
        return log

    def open_logs(self) -> Iterable[DiskLog]:
        return self._logs.all()

    def remove(self, partition: PartitionId) -> None:
        """The files of the whole topic go with the first of its partitions: only topics are deleted."""
        declared = self._declared.forget(partition)
        self._damaged.forget(partition)
        self.catalog.forget(partition)
        log = self._logs.remove(partition)
        if log is not None:
            directory = log.directory
            self.maintenance.forget(log)
            self.commit.forget(log, lambda: self.file_cache.forget_below(directory))
        self.trash.discard(declared.topic, partition.topic_id)

    def is_leaving(self, topic_id: TopicId) -> bool:
        return self.trash.is_leaving(topic_id)

    def restart_at(self, partition: PartitionId, offset: int) -> None:
        log = self.log(partition)
        if log.is_saving or (self.commit.syncs and log.flushed < log.log_end) or self._work.is_busy(log):
            raise BlockingIOError(f"{log.name} is busy")
        log.save_log_start(offset)
        self.maintenance.forget(log)
        log.restart_at(offset)

    def accepts_writes(self) -> bool:
        return self.gate.accepts_writes

    # --- reports for the operator ----------------------------------------------------------------------

    @property
    def damaged(self) -> Mapping[PartitionId, str]:
        """Logs with bytes that are not what was written, and why."""
        return self._damaged.reasons

    def problems(self) -> dict[str, list[str]]:
        found = {"compaction": [f"{name}: {reason}" for name, reason in self._compaction.problems().items()]}
        if self.orphans:
            found["orphans"] = [f"directories that belong to no topic: {len(self.orphans)}; the log names them"]
        return found

    # --- running ---------------------------------------------------------------------------------------

    def recover(self) -> None:
        """Put in order what a crash left; may take long. Once, when all partitions are declared. Any thread."""
        self.orphans = self.trash.sort_out(self._declared.partitions())
        for orphan in self.orphans:
            logger.error(
                "%s belongs to no topic that meta.db knows, and no deletion is recorded; it is left as it is:"
                " restore the meta.db that belongs to it, or move it away", orphan,
            )  # fmt: skip
        if not self.data.was_stopped_cleanly():
            self._declared.recover_tails(self.context.worker)
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
        """Start after `recover`, which is waited for. Without `background` the caller ticks and flushes."""
        self._on_flushed = on_flushed
        self._loop.start(call_soon)
        if not self._is_recovered:
            self.recover()
        self._declared.take_over_tails()
        self.commit.start(
            cast(OnFlushed, on_flushed),  # every log that is marked is a DiskLog
            call_soon,
            call_next=call_next,
            note=self._note_flushed,
            after_round=after_round,
            in_thread=background,
        )
        self.maintenance.start(in_thread=background)

    def tick(self) -> None:
        """Start what is due, on the loop thread. Called by the engine's own thread, or by a test."""
        self.maintenance.tick()

    def run_retention(self, now_ms: int) -> int:
        """Start deleting what retention allows, in all open logs; returns the segments that are on their way out."""
        return self._retention.run(now_ms)

    def close(self) -> None:
        """Flush everything, write recovery points and the clean marker, release the lock. Waits for the disk."""
        self.maintenance.stop()
        self.context.worker.close()
        self.context.disk_thread.close()
        self._work.finish()
        self.commit.stop()
        clean = self._close_logs()
        self.catalog.record(
            CataloguedLog(log.topic, log.partition, [segment.entry() for segment in log.segments])
            for log in self._logs.all()
        )
        self.catalog.close()
        self.file_cache.close()
        self.metadata.close()
        if clean:
            try:
                self.data.mark_clean()
            except OSError as error:
                logger.error("not a clean stop: %s", error)
        if self._lock is not None:
            self._lock.release()

    # --- internals -------------------------------------------------------------------------------------

    def _note_flushed(self, log: Flushable) -> None:
        """Pass a flushed log to the jobs; the group commit notifies the partitions."""
        assert isinstance(log, DiskLog)
        if log.status.state is _OFFLINE:
            self._report_offline(log)
        else:
            self._checkpoints.written(log)

    def _failed(self, log: DiskLog) -> None:
        """A sync of this log failed outside a flush round, which took it offline."""
        self._report_offline(log)
        if self._on_flushed is not None:
            self._on_flushed(log)

    def _report_offline(self, log: DiskLog) -> None:
        if self._logs.is_current(log):  # that of a deleted topic is offline, too, and nothing is wrong with it
            logger.error("%s is offline: a flush failed; a restart recovers it", log.name)

    def _close_logs(self) -> bool:
        """Two syncs of the whole file system instead of several per log. False if something could not be saved."""
        files, logs = self.data.files, list(self._logs.all())
        handle = files.open_directory(self.data.root)
        try:
            files.sync_all(handle)
            for log in logs:
                log.close(synced=True)
            files.sync_all(handle)
        except OSError as error:
            logger.error("not a clean stop: %s", error)
            return False
        finally:
            handle.close()
        return not any(log.state is LogState.OFFLINE for log in logs)
