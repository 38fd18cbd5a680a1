"""Compaction's output on its way into the place of the sealed segments it was made of.

    begin (loop)     the old files are held open: whoever reads meanwhile reads them
    write (thread)   rename to .swap, sync, recovery point, old files away, final name; crashes: `unfinished_swap`
    finish (loop)    readers see the new segment
    let go (thread)  the old files are closed, and with that their space is free

A `write` that failed leaves the log as it was for this process, which keeps the old files open until it ends; the next
start finishes or forgets the swap.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.compaction.swap_recovery import finish_swap
from penstock.storage.flush.flushable import FileCache
from penstock.storage.recovery.checkpoint import cover_segment, write_aborted_file
from penstock.storage.recovery.crash_leftovers import record_holes
from penstock.storage.recovery.recovery import segment_from_entry
from penstock.storage.recovery.snapshot import SegmentEntry, rewrite_segments
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.segment import Segment


class SegmentSwap:
    """One group of neighbours and what replaces them. Made by `DiskLog.begin_swap`."""

    __slots__ = (
        "_cache",
        "_cleaned",
        "_directory",
        "_entries",
        "_files",
        "_held",
        "_snapshot_end",
        "is_begun",
        "replaced",
        "segment",
    )

    def __init__(
        self,
        files: Files,
        cache: FileCache,
        directory: Path,
        segments: Sequence[Segment],
        replaced: Sequence[Segment],
        cleaned: Path,
        kept: SegmentEntry,
        aborted: Sequence[AbortedEntry],
        snapshot_end: int,
    ) -> None:
        """`segments` are those of the log; `kept` describes `cleaned`, its offsets are those of `replaced`.

        `aborted` are the aborted transactions that are left in it.
        """
        self._files = files
        self._cache = cache
        self._directory = directory
        self._cleaned = cleaned
        self._snapshot_end = snapshot_end
        self.is_begun = False  # from the first rename on only the next start can settle a failure
        self.replaced = tuple(replaced)
        self.segment = segment_from_entry(directory, kept, has_holes=True)
        self.segment.index_written = False
        if self.segment.aborted is not None:
            self.segment.aborted.take(aborted)
        self._entries = [one.entry() for one in self.swapped(segments)]
        self._held: list[File] = [cache.acquire(old.path) for old in replaced]

    def swapped(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """The segments of the log with the new one in its place."""
        at = segments.index(self.replaced[0])
        count = len(self.replaced)
        assert tuple(segments[at : at + count]) == self.replaced
        return (*segments[:at], self.segment, *segments[at + count :])

    def write(self) -> None:
        """Any thread. Waits for the disk; recoverable at every step."""
        base_offset, end_offset = self.replaced[0].base_offset, self.replaced[-1].end_offset
        record_holes(self._files, self._directory)
        self._files.rename(self._cleaned, layout.swap_path(self._directory, base_offset, end_offset))
        self.is_begun = True
        self._files.sync_directory(self._directory)
        rewrite_segments(self._files, self._directory, self._snapshot_end, self._entries)
        finish_swap(self._files, self._directory, base_offset, end_offset)
        with contextlib.suppress(OSError):  # it can be rebuilt
            write_aborted_file(self._files, self._directory, cover_segment(self.segment))

    def forget_replaced(self) -> None:
        """Loop thread: whoever asks for a path from now on gets the new file."""
        for old in self.replaced:
            self._cache.forget(old.path)

    def let_go(self) -> None:
        """Any thread, last. Closing a removed file gives its space back, which takes a while for a large one."""
        for file in self._held:
            self._cache.release(file)
