"""Recovery points: for logs with many bytes above the last one at once, for the others after an interval."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import chain, islice

from penstock.runtime.descriptors import lacks_descriptors
from penstock.storage.checkpoint.checkpoint import Checkpoint
from penstock.storage.engine.jobs.job import Done, Job, MaintenanceHost
from penstock.storage.log.log import DiskLog
from penstock.storage.pace import LOGS_SEEN_PER_TICK

logger = logging.getLogger(__name__)

# Recovery points in the queue of the disk thread; more would only hold files open.
UNDER_WAY_MAX = 4


class Checkpoints(Job):
    """The logs that have bytes above their recovery point, and the recovery points that are being written."""

    def __init__(self, host: MaintenanceHost, *, interval_ms: int, bytes_max: int) -> None:
        self._host = host
        self._interval_ms = interval_ms
        self._bytes_max = bytes_max
        self._uncovered: dict[DiskLog, int] = {}  # since when a log has bytes above its recovery point
        self._long: dict[DiskLog, None] = {}  # of those, the ones with so many bytes that they cannot wait
        self._active_bases: dict[DiskLog, int] = {}  # base offset of the active segment, in the last recovery point
        self._under_way = 0

    def written(self, log: DiskLog) -> None:
        """Bytes were flushed that no recovery point covers."""
        if log not in self._uncovered:
            self._uncovered[log] = self._host.clock.monotonic_ms()
        if log.unsnapshotted_bytes >= self._bytes_max:
            self._long[log] = None

    def forget(self, log: DiskLog) -> None:
        self._uncovered.pop(log, None)
        self._long.pop(log, None)
        self._active_bases.pop(log, None)

    def tick(self, now_ms: int) -> None:
        for log in chain(list(self._long), self._overdue(now_ms - self._interval_ms)):
            if self._under_way >= UNDER_WAY_MAX:
                return
            if not self._host.is_busy(log):
                self.write(log)

    def _overdue(self, due_ms: int) -> Iterator[DiskLog]:
        """`_uncovered` is in the order of its times: after the first log that is not due, none is."""
        for log, since_ms in list(islice(self._uncovered.items(), LOGS_SEEN_PER_TICK)):
            if since_ms > due_ms:
                return
            yield log

    def write(self, log: DiskLog) -> None:
        """Begin a recovery point of this log, now."""
        self._uncovered.pop(log, None)
        self._long.pop(log, None)
        covered_bytes = log.unsnapshotted_bytes
        checkpoint = log.checkpoint()
        if checkpoint is not None:
            self._under_way += 1
            self._host.run_for(log, self._written(log, checkpoint, covered_bytes), checkpoint.write)

    def is_sealed_below(self, log: DiskLog, offset: int) -> bool:
        """Whether the recovery point knows every segment below `offset` as sealed.

        Compaction changes sealed segments: the recovery point must not expect one of them to grow.
        """
        return self._active_bases.get(log, -1) >= offset

    def seal(self, log: DiskLog) -> None:
        """Begin a recovery point that knows all segments but the active one as sealed."""
        log.want_checkpoint()
        self.write(log)

    def _written(self, log: DiskLog, checkpoint: Checkpoint, covered_bytes: int) -> Done:
        active_base = log.segments[-1].base_offset

        def done(error: BaseException | None) -> None:
            self._under_way -= 1
            if error is None:
                log.checkpoint_written(checkpoint)
                self._active_bases[log] = active_base
            elif checkpoint.data_is_synced or lacks_descriptors(error):
                # Only the recovery point could not be written, say because the disk is full, or a file could not be
                # opened, and no sync has failed: the data is as safe as before.
                logger.warning("%s: no recovery point: %s", log.name, error)
                log.checkpoint_not_written(covered_bytes)
                self.written(log)
            else:
                self._host.sync_failed(log, error)

        return done
