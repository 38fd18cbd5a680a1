"""The recovery point of one log: how far it reaches, what lies above it, and the next one that is being written.

Everything below `snapshot_end` was on disk when the newest snapshot was written, so that the next start scans only what
lies above it. At most one new recovery point is under way at a time. Loop thread.
"""

from __future__ import annotations

from penstock.storage.admission.epochs import Epochs
from penstock.storage.admission.producer_state import Producers
from penstock.storage.admission.status import Status
from penstock.storage.checkpoint.checkpoint import Checkpoint
from penstock.storage.checkpoint.snapshot import encode_snapshot
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.recovered_log import RecoveredLog
from penstock.storage.log.segment_list import SegmentList
from penstock.storage.log.tail import DiskTail


class RecoveryPoint:
    """Captures checkpoints of one log; any thread writes them."""

    __slots__ = (
        "_cache", "_epochs", "_files", "_identity", "_producers", "_segments", "_status", "_tail", "covered_bytes",
        "is_saving", "snapshot_end",
    )  # fmt: skip

    def __init__(
        self,
        context: LogContext,
        identity: LogIdentity,
        segments: SegmentList,
        tail: DiskTail,
        status: Status,
        recovered: RecoveredLog,
    ) -> None:
        self._files = context.files
        self._cache = context.cache
        self._identity = identity
        self._segments = segments
        self._tail = tail
        self._status = status
        self._producers: Producers = recovered.producers
        self._epochs: Epochs = recovered.epochs
        self.covered_bytes = -recovered.scanned_bytes
        """Of the tail's `written_bytes`, those that this recovery point covers, or the one that is being written."""
        self.snapshot_end = recovered.snapshot_end
        self.is_saving = False

    def want(self) -> None:
        """Make the next `capture` give a recovery point even if nothing was written since the last one."""
        self.covered_bytes = min(self.covered_bytes, self._tail.written_bytes - 1)

    def capture(self) -> Checkpoint | None:
        """A new recovery point, to be written by the caller; None if nothing is new or one is being written already.

        The caller writes it and reports with `written` or `not_written`, or takes the log offline if a sync failed.
        """
        segments, log_end = self._segments.all, self._tail.log_end
        is_covered = self.snapshot_end == log_end and self._tail.written_bytes == self.covered_bytes
        if not segments or self.is_saving or is_covered:
            return None
        entries = [segment.entry() for segment in segments]
        snapshot = encode_snapshot(log_end, entries, self._epochs.entries, self._producers.encode())
        # The first recovery point is worth nothing without the directories that lead to it.
        directories = [self._identity.directory] if self.snapshot_end >= 0 else self._identity.path_directories()
        interval = self._status.config.index_interval_bytes
        checkpoint = Checkpoint(self._files, self._cache, directories, log_end, snapshot, interval)
        active = segments[-1]
        checkpoint.cover([segment for segment in segments if segment is active or not segment.index_written])
        self.covered_bytes = self._tail.written_bytes
        self.is_saving = True
        return checkpoint

    def written(self, checkpoint: Checkpoint) -> None:
        self.is_saving = False
        self.snapshot_end = max(self.snapshot_end, checkpoint.log_end)
        active = self._segments.all[-1] if self._segments.all else None
        for item in checkpoint.covered:
            if item.segment is not active and item.size == item.segment.size:
                item.segment.index_written = True
                item.segment.drop_index()
                item.segment.drop_aborted()

    def not_written(self, covered_bytes: int) -> None:
        """Make a recovery point due again: data was synced, but the point could not be saved, say on a full disk."""
        self.is_saving = False
        self.covered_bytes -= covered_bytes

    def restart(self) -> None:
        """Start over with an empty log, which has no recovery point."""
        self.snapshot_end, self.covered_bytes = -1, self._tail.written_bytes
