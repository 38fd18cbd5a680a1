"""Compaction's output on its way into the place of the sealed segments it was made of.

    begin (loop)     the old files are held open: readers go on with them meanwhile
    write (thread)   rename to .swap, sync, recovery point, old files away, final name
    finish (loop)    readers see the new segment
    let go (thread)  the old files are closed, and with that their space is free

A `write` that failed leaves the log as it was for this process, which keeps the old files open until it ends; the next
start finishes or forgets the swap (`recovery.swap_recovery`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from penstock.runtime.files import File
from penstock.storage import layout
from penstock.storage.checkpoint.checkpoint import cover_segment, write_aborted_file
from penstock.storage.checkpoint.marker_files import record_holes
from penstock.storage.checkpoint.snapshot import rewrite_segments
from penstock.storage.log.log import DiskLog
from penstock.storage.recovery.swap_recovery import finish_swap
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.segment import Segment, segment_from_entry
from penstock.storage.segment.segment_entry import SegmentEntry


class SegmentSwap:
    """One group of neighbours and the segment that replaces them."""

    __slots__ = ("_cache", "_cleaned", "_directory", "_entries", "_files", "_held", "_log", "_snapshot_end", "is_begun",
                 "replaced", "segment")  # fmt: skip

    def __init__(
        self,
        log: DiskLog,
        replaced: Sequence[Segment],
        cleaned: Path,
        kept: SegmentEntry,
        aborted: Sequence[AbortedEntry] = (),
    ) -> None:
        """`replaced` are sealed neighbours below the recovery point. `kept` describes `cleaned`, which is synced.

        `aborted` are the aborted transactions that are left in it. No recovery point may be written before `let_go`.
        OSError if an old file cannot be opened.
        """
        assert replaced[-1] is not log.segments[-1]
        assert replaced[-1].end_offset <= log.snapshot_end, "only what the recovery point covers may change"
        self._log = log
        self._files = log.context.files
        self._cache = log.context.cache
        self._directory = log.directory
        self._snapshot_end = log.snapshot_end
        self._cleaned = cleaned
        self.is_begun = False  # from the first rename on only the next start can settle a failure
        self.replaced = tuple(replaced)
        self.segment = segment_from_entry(self._directory, kept, has_holes=True)
        self.segment.index_written = False
        if self.segment.aborted is not None:
            self.segment.aborted.take(aborted)
        self._entries = [one.entry() for one in log.segments_with(self.replaced, self.segment)]
        self._held: list[File] = [self._cache.acquire(old.path) for old in replaced]

    def write(self) -> None:
        """Replace the segments on disk, recoverably at every step. Waits for the disk. Any thread."""
        base_offset, end_offset = self.replaced[0].base_offset, self.replaced[-1].end_offset
        record_holes(self._files, self._directory)
        self._files.rename(self._cleaned, layout.swap_path(self._directory, base_offset, end_offset))
        self.is_begun = True
        self._files.sync_directory(self._directory)
        rewrite_segments(self._files, self._directory, self._snapshot_end, self._entries)
        finish_swap(self._files, self._directory, base_offset, end_offset)
        with contextlib.suppress(OSError):  # it can be rebuilt
            write_aborted_file(self._files, self._directory, cover_segment(self.segment))

    def finish(self) -> None:
        """Show readers the new segment; a path that is opened from now on is the new file. Loop thread."""
        self._log.replace_segments(self.replaced, self.segment)

    def let_go(self) -> None:
        """Close the removed files, last. That frees their space, which takes a while for large ones. Any thread."""
        for file in self._held:
            self._cache.release(file)
