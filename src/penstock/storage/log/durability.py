"""The durable part of a log, and its side of flush rounds.

    flush round   `flush_targets` in the flush thread, then on the loop `flush_completed` or `flush_failed`
    written       where producers do not wait for the disk (`storage.flush` interval and os): `note_written`, and with
                  os `let_go`, since no round will come

`flushed` is honest in every mode: what is below it is on disk (with os, what was there at the start, since the
system does not tell what it has written). What readers see is decided by the partition.

A failed sync is final: the kernel may have dropped the dirty pages and called them clean, so a second sync that
succeeds proves nothing. The log goes offline, and the next start rewrites its tail (`checkpoint.marker_files`).
Loop thread but for `flush_targets`.
"""

from __future__ import annotations

from penstock.runtime.files import File
from penstock.storage.admission.producer_state import Producers
from penstock.storage.admission.status import Status
from penstock.storage.checkpoint.marker_files import record_failed_flush
from penstock.storage.interface import LogState
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.tail import DiskTail
from penstock.storage.log.unflushed_files import UnflushedFiles

_OFFLINE = LogState.OFFLINE  # looked up once: this is asked for every flush


class Durability:
    """Raises `flushed` of the status; `reading_mark` is the position of the end up to which most readers read now."""

    __slots__ = (
        "_commit", "_directory", "_files", "_flushing", "_producers", "_status", "_tail", "_unflushed",
        "reading_mark",
    )  # fmt: skip

    def __init__(
        self,
        context: LogContext,
        identity: LogIdentity,
        tail: DiskTail,
        unflushed: UnflushedFiles,
        producers: Producers,
        status: Status,
    ) -> None:
        self._files = context.files
        self._commit = context.commit
        self._directory = identity.directory
        self._tail = tail
        self._unflushed = unflushed
        self._producers = producers
        self._status = status
        self.begin_at_end()

    def begin_at_end(self) -> None:
        """Count everything as flushed: after recovery, or when the whole log was dropped."""
        self.reading_mark = self._flushing = self._tail.end_mark
        self._status.flushed = self._tail.log_end

    @property
    def settled(self) -> int:
        """End of the records that may have been acknowledged. Retention, deletion and compaction keep below it."""
        return self._status.flushed if self._commit.waits_for_sync else self._tail.log_end

    @property
    def last_stable(self) -> int:
        """The stable end of what is settled."""
        return max(self._producers.transactions.stable_end(self.settled), self._status.log_start)

    def stable_end(self, below: int) -> int:
        """Return what `storage.interface.Log.stable_end` says."""
        transactions = self._producers.transactions
        if not transactions.open and not transactions.ending:
            return below
        transactions.forget_ended(below)
        return max(transactions.stable_end(below), self._status.log_start)

    def flush_targets(self) -> tuple[int, list[File]]:
        mark = self._tail.end_mark  # before the files: a file is pinned before the end rises
        self._flushing = mark
        return mark[0], self._unflushed.targets()

    def flush_completed(self, end: int) -> None:
        if self._status.state is _OFFLINE:
            return
        if end > self._status.flushed:
            self._status.flushed = end
        if end > self.reading_mark[0]:
            # Where the new end lies is known if nothing was written since the round began, or since now.
            for mark in (self._tail.end_mark, self._flushing):
                if mark[0] == end:
                    self.reading_mark = mark
                    break
            else:
                self.reading_mark = (end, -1, -1)
        self._unflushed.flushed(end, all_of_it=end >= self._tail.log_end)

    def note_written(self) -> None:
        self.reading_mark = self._tail.end_mark

    def let_go(self) -> None:
        if self._status.state is not _OFFLINE:
            self._unflushed.flushed(self._tail.log_end, all_of_it=True)

    def flush_failed(self, error: OSError) -> None:
        """Record the failure beside the log. Waits for the disk, once."""
        if self._status.state is _OFFLINE:
            return
        self._status.take_offline()
        record_failed_flush(self._files, self._directory, str(error))
        self._unflushed.abandon()

    def closed(self) -> None:
        """Count everything as flushed, because it was synced outside a round."""
        self._unflushed.abandon()
        self._status.flushed = self._tail.log_end
