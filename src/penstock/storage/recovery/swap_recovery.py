"""Compaction's output found under its `.swap` name: put in the place of the segments it was made of, or given up.

It was synced before it got this name, and no old segment is touched before. Still every batch is checked first, because
the segments that it replaces are gone afterwards:

    sound                         finished: the snapshot describes it, the old segments are removed, it gets its name
    broken, all old ones there    it is removed, they stay; the snapshot describes them again
    broken, old ones missing      finished all the same, since no other file has their records. The snapshot is left
                                  as it is, and the log is found damaged by that or by a reader; `penstock log repair`
                                  saves the batches that are good

A running node puts its own output in place by `compaction.swap`, which ends with `finish_swap`, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from penstock.runtime.files import Files
from penstock.storage import layout
from penstock.storage.checkpoint.snapshot import newest_snapshot, rewrite_segments
from penstock.storage.segment.aborted_index import NONE_ABORTED, UNKNOWN_ABORTED
from penstock.storage.segment.batch_scanner import BatchScanner, ExpectedOffsets
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.time_index import Times


def settle_swap(files: Files, directory: Path, names: Sequence[str], base_offset: int, end_offset: int) -> str | None:
    """Settle a swap after a crash. Returns a note for people if the file is broken."""
    path = layout.swap_path(directory, base_offset, end_offset)
    swap = _Found(files, path, base_offset, end_offset, verify=True)
    note = None
    if swap.reason is None:
        _put_into_snapshot(files, directory, names, [swap.entry(end_offset)], end_offset)
    else:
        note = f"{path.name} is broken, {swap.reason} at byte {swap.position}: "
        if _has_replaced(files, directory, names, base_offset, end_offset):
            files.remove(path)
            files.sync_directory(directory)
            return note + "removed, the segments it was to replace stay"
        note += "put in place, since segments that it replaces are gone"
    finish_swap(files, directory, base_offset, end_offset)
    return note


def finish_swap(files: Files, directory: Path, base_offset: int, end_offset: int) -> list[Path]:
    """Put `<base>-<end>.swap` in the place of the segments it replaces; returns the segments removed.

    May be repeated after a crash at any point: the swap file goes last.
    """
    removed = []
    for name in files.list_names(directory):
        for suffix in (layout.LOG, layout.INDEX, layout.TIME_INDEX, layout.ABORTED_INDEX):
            base = layout.offset_of(name, suffix)
            if base is None or not base_offset <= base < end_offset:
                continue
            if suffix != layout.LOG or base != base_offset:
                files.remove(directory / name)
                if suffix == layout.LOG:
                    removed.append(directory / name)
    files.rename(layout.swap_path(directory, base_offset, end_offset), layout.log_path(directory, base_offset))
    files.sync_directory(directory)
    return removed


def _has_replaced(files: Files, directory: Path, names: Sequence[str], base_offset: int, end_offset: int) -> bool:
    """Whether every old segment is there. If so, the snapshot speaks of them afterwards.

    It does so already unless it was rewritten for the swap, which happens before the first of them goes, and after
    which it has one segment in this range. Then they must prove it themselves, each leading to the next; one that ends
    in a hole proves nothing.
    """
    bases = sorted(
        base
        for name in names
        if (base := layout.offset_of(name, layout.LOG)) is not None and base_offset <= base < end_offset
    )
    if not bases:
        return False
    snapshot, is_newest = newest_snapshot(files, directory, names)
    if snapshot is not None and is_newest:
        listed = [one for one in snapshot.segments if base_offset <= one.base_offset < end_offset]
        if [one.base_offset for one in listed] == bases and (
            len(bases) > 1 or listed[0].size == files.file_size(layout.log_path(directory, base_offset))
        ):
            return True
    if bases[0] != base_offset:
        return False
    entries = []
    for base, following in pairwise([*bases, end_offset]):
        old = _Found(files, layout.log_path(directory, base), base, following, verify=False)
        if old.next_offset != following:
            return False
        entries.append(old.entry(following))
    _put_into_snapshot(files, directory, names, entries, end_offset)
    return True


def _put_into_snapshot(
    files: Files, directory: Path, names: Sequence[str], entries: Sequence[SegmentEntry], end_offset: int
) -> None:
    """Make the newest snapshot speak of these in their range of offsets."""
    snapshot, is_newest = newest_snapshot(files, directory, names)
    if snapshot is None or not is_newest:
        return
    base_offset = entries[0].base_offset
    others = [one for one in snapshot.segments if not base_offset <= one.base_offset < end_offset]
    rewrite_segments(files, directory, snapshot.log_end, sorted([*others, *entries]))


class _Found:
    """A sealed segment's file, read through. `reason` says why it is broken at `position`, None if it is sound."""

    def __init__(self, files: Files, path: Path, base_offset: int, end_offset: int, *, verify: bool) -> None:
        self._base_offset = base_offset
        self._aborted = NONE_ABORTED
        first, largest, largest_offset = Times()
        file = files.open(path, write=False)
        try:
            size = file.size()
            scanner = BatchScanner(
                file,
                0,
                size,
                ExpectedOffsets(base_offset, end=end_offset),
                verify=verify,
                allows_preallocation=not verify,
            )
            for _, header in scanner:
                if first < 0:
                    first = header.max_timestamp
                if header.max_timestamp > largest:
                    largest, largest_offset = header.max_timestamp, header.base_offset
                if header.is_control:
                    self._aborted = UNKNOWN_ABORTED  # found out by the first search
        finally:
            file.close()
        self._times = Times(first, largest, largest_offset)
        self.reason = scanner.reason
        self.position = scanner.position
        self.next_offset = scanner.next_offset

    def entry(self, end_offset: int) -> SegmentEntry:
        return SegmentEntry(self._base_offset, end_offset, self.position, self._times, self._aborted)
