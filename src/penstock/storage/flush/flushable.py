"""The small protocols between a log and the engine around it; no code.

`GroupCommit` is the flush queue, `metadata.log_journal` the journal, `LruFileCache` the cache of descriptors, and
`DiskLog` is flushable. The order of one write:

    append        file is in flush_targets, bytes are written, log_end rises, mark(log)
    flush round   targets = flush_targets() of each marked log; one sync; on the loop flush_completed(end)
    failure       flush_failed(error): the page cache can't be trusted any more, the log is offline for good
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from penstock.model.ids import PartitionId
from penstock.runtime.files import File


class Flushable(Protocol):
    """A log as the flush rounds see it."""

    def flush_targets(self) -> tuple[int, list[File]]:
        """(log end covered, files to sync so that everything below it is on disk).

        Any thread. The first file, if there is one, is a segment's and may be used for `Files.sync_all`; the
        others may be directories (`datasync` syncs the new entry, `fileno` is that of the segment). Every
        file stays open until the matching `flush_completed` or `flush_failed`.
        """
        ...

    def flush_completed(self, end: int) -> None:
        """Note that everything below `end` is on disk: `flushed` rises, its files are let go. Loop thread."""
        ...

    def flush_failed(self, error: OSError) -> None:
        """Take the log OFFLINE for good; the failure is recorded beside it if the disk allows. Loop thread."""
        ...

    def note_written(self) -> None:
        """Show readers what was written before it is on disk, for `flush` interval and os. Loop thread."""
        ...

    def let_go(self) -> None:
        """Let go of files that wait for a round, which `flush: os` does not have; `flushed` stays. Loop thread."""
        ...


class FlushQueue(Protocol):
    """The queue in which logs announce unflushed bytes."""

    waits_for_sync: bool
    """Whether producers get their acknowledgement only when a batch is on disk."""

    wants_preallocation: bool
    """Whether syncs are many, so that cheaper ones are worth some zeros at the end of a segment
    (`segment.preallocation`)."""

    sync_bytes: int
    """How many bytes of batches a sync had to write of late."""

    def mark(self, log: Flushable, size_bytes: int = 0) -> None:
        """Mark a log after an append of so many bytes. Cheap; marking twice is marking once. Loop thread."""
        ...


class LogJournal(Protocol):
    """Facts that segments cannot give back. Every call is durable on return and may come from any thread."""

    def set_log_start(self, partition: PartitionId, offset: int) -> None: ...
    def replace_epochs(self, partition: PartitionId, epochs: Sequence[tuple[int, int]]) -> None: ...


class FileCache(Protocol):
    """Open descriptors, fewer than there are segments. Any thread."""

    def acquire(self, path: Path, *, write: bool = False, create: bool = False) -> File:
        """The open file, pinned until `release`. One opened for writing serves readers, too.

        All callers get the same `File` for a path: the kernel reports a writeback error once per open file, so with a
        second descriptor it could go unseen. FileNotFoundError if the path is missing and `create` is not set.
        """
        ...

    def release(self, file: File) -> None:
        """Take back one pin. A file without pins may be closed at any time."""
        ...

    def forget(self, path: Path) -> None:
        """Note that the path was removed or names another file now: its file is closed when unpinned."""
        ...
