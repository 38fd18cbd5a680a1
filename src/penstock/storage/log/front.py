"""The beginning of a log on disk: deleted records, expired segments, and the log start that says so durably.

The log start is durable before any file goes: a start that finds segments missing at the front must know that they
were meant to be gone. Loop thread unless a docstring says otherwise.
"""

from __future__ import annotations

from pathlib import Path

from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage import layout
from penstock.storage.admission.epochs import Epochs
from penstock.storage.admission.status import Status
from penstock.storage.log.context import LogContext, LogIdentity
from penstock.storage.log.durability import Durability
from penstock.storage.log.segment_list import SegmentList


class LogFront:
    """Raises the log start of one log."""

    __slots__ = ("_cache", "_durability", "_epochs", "_identity", "_journal", "_segments", "_status")

    def __init__(
        self,
        context: LogContext,
        identity: LogIdentity,
        segments: SegmentList,
        durability: Durability,
        epochs: Epochs,
        status: Status,
    ) -> None:
        self._cache = context.cache
        self._journal = context.journal
        self._identity = identity
        self._segments = segments
        self._durability = durability
        self._epochs = epochs
        self._status = status

    def save_log_start(self, before: int) -> None:
        """Make durable that nothing below `before` will be read again. Waits for the disk. Any thread."""
        self._journal.set_log_start(self._identity.partition, before)

    def save(self, log_start: int) -> None:
        """Make durable what segments that are about to go cannot give back. Waits for the disk. Any thread."""
        self._journal.set_log_start(self._identity.partition, log_start)
        self._journal.replace_epochs(self._identity.partition, self._epochs.entries)

    def delete_records(self, before: int, *, saved: bool) -> None:
        """Raise the log start. Waits for the disk unless it was `saved`."""
        self._status.check_not_offline()
        end = self._durability.settled
        if before > end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {before} is above the visible end, {end}")
        if before > self._status.log_start:
            if not saved:
                self.save_log_start(before)
            self._status.log_start = before
            self._epochs.cut_front(before)

    def drop(self, count: int, log_start: int) -> list[Path]:
        """Forget the oldest segments, after `save`; returns the files to remove."""
        dropped = self._segments.drop_front(count)
        self._status.log_start = max(self._status.log_start, log_start)
        self._epochs.cut_front(self._status.log_start)
        paths: list[Path] = []
        for segment in dropped:
            self._cache.forget(segment.path)
            paths += (segment.path, *layout.derived_paths(self._identity.directory, segment.base_offset))
        return paths
