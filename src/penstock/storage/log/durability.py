"""How much of a log is on disk, and what flush rounds ask and are told.

    flush round   `flush_targets` in the flush thread, then on the loop `flush_completed` or `flush_failed`
    interval      `made_visible` at once, the round later: readers may see what a crash would take back

A failed sync is final: the kernel may have dropped the dirty pages and called them clean, so a second sync that
succeeds proves nothing. The log goes offline, and the next start rewrites its tail (`checkpoint.marker_files`).
Loop thread but for `flush_targets`.
"""

from __future__ import annotations

from penstock.runtime.files import File
from penstock.storage.admission.condition import LogCondition
from penstock.storage.admission.producer_state import Producers
from penstock.storage.checkpoint.marker_files import record_failed_flush
from penstock.storage.interface import LogState
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.segment_list import SegmentList
from penstock.storage.log.tail import DiskTail
from penstock.storage.log.unflushed_files import UnflushedFiles


class Durability:
    """Owns `flushed` and `last_stable`; `flush_mark` is the position where `flushed` lies, for readers."""

    __slots__ = (
        "_condition", "_directory", "_files", "_flushing", "_producers", "_segments", "_tail", "_unflushed",
        "flush_mark", "flushed", "last_stable",
    )  # fmt: skip

    def __init__(
        self,
        context: LogContext,
        identity: LogIdentity,
        segments: SegmentList,
        tail: DiskTail,
        unflushed: UnflushedFiles,
        producers: Producers,
        condition: LogCondition,
    ) -> None:
        self._files = context.files
        self._directory = identity.directory
        self._segments = segments
        self._tail = tail
        self._unflushed = unflushed
        self._producers = producers
        self._condition = condition
        self.begin_at_end()

    def begin_at_end(self) -> None:
        """Everything that is there is on disk: after recovery, or when all of it was forgotten."""
        self.flush_mark = self._flushing = self._tail.end_mark
        self.flushed = self._tail.log_end
        self.last_stable = self._stable_end()

    def flush_targets(self) -> tuple[int, list[File]]:
        mark = self._tail.end_mark  # before the files: a file is pinned before the end rises
        self._flushing = mark
        return mark[0], self._unflushed.targets()

    def flush_completed(self, end: int) -> None:
        if self._condition.state is LogState.OFFLINE:
            return
        self.made_visible(end)
        self._unflushed.flushed(end, all_of_it=end >= self._tail.log_end)

    def made_visible(self, end: int) -> None:
        if end <= self.flushed or self._condition.state is LogState.OFFLINE:
            return
        # Where the new end lies is known if nothing was written since the round began, or since now.
        for mark in (self._tail.end_mark, self._flushing):
            if mark[0] == end:
                self.flush_mark = mark
                break
        else:
            self.flush_mark = (end, -1, -1)
        self.flushed = end
        self.last_stable = end if self._producers.transactions.is_idle else self._stable_end()

    def flush_failed(self, error: OSError) -> None:
        """Waits for the disk, once: the failure is recorded beside the log."""
        if self._condition.state is LogState.OFFLINE:
            return
        self._condition.take_offline()
        record_failed_flush(self._files, self._directory, str(error))
        self._unflushed.abandon()

    def closed(self) -> None:
        """Everything was synced outside a round."""
        self._unflushed.abandon()
        self.flushed = self._tail.log_end
        self.last_stable = self._stable_end()

    def log_start_rose(self) -> None:
        """Deleting the beginning of an open transaction does not decide it, but nothing below the start is read."""
        self.last_stable = max(self.last_stable, self._segments.log_start)

    def _stable_end(self) -> int:
        return max(self._producers.transactions.stable_end(self.flushed), self._segments.log_start)
