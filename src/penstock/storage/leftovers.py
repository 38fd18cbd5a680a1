"""What an interrupted process leaves in a log's directory, and what becomes of it.

.tmp, .cleaned    half of something: removed
.swap             all of something: compaction's output was synced under this name before any old segment was
                  touched, so whoever finds it finishes what compaction was doing
flush-failed      a sync failed; the kernel may have dropped the dirty pages and call them clean, so what is
                  in the page cache is copied into a new file, whose sync can be believed
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.scan import CHUNK_BYTES, BatchScanner
from penstock.storage.snapshot import SegmentEntry, newest_snapshot, rewrite_segments
from penstock.storage.time_index import Times


def clear_leftovers(files: Files, directory: Path, names: list[str]) -> list[str]:
    """Remove halves, finish swaps; returns the names that are there afterwards."""
    if not any(name.endswith((layout.TEMPORARY, layout.CLEANED, layout.SWAP)) for name in names):
        return names
    for name in names:
        if name.endswith((layout.TEMPORARY, layout.CLEANED)):
            files.remove(directory / name)
    for name in sorted(names):
        if (swapped := layout.swap_range(name)) is not None:
            _note_swap(files, directory, names, *swapped)
            finish_swap(files, directory, *swapped)
    return files.list_names(directory)


def _note_swap(files: Files, directory: Path, names: Sequence[str], base_offset: int, end_offset: int) -> None:
    """Make the snapshot speak of the new segment, if compaction was stopped before it could."""
    snapshot, is_newest = newest_snapshot(files, directory, names)
    if snapshot is None or not is_newest:
        return
    file = files.open(layout.swap_path(directory, base_offset, end_offset), write=False)
    try:
        entry = describe_segment(file, base_offset, end_offset)
    finally:
        file.close()
    others = [one for one in snapshot.segments if not base_offset <= one.base_offset < end_offset]
    rewrite_segments(files, directory, snapshot.log_end, sorted([*others, entry]))


def describe_segment(file: File, base_offset: int, end_offset: int) -> SegmentEntry:
    """A sealed segment's entry, from its headers."""
    size = file.size()
    first, largest, largest_offset = Times()
    for _, header in BatchScanner(file, 0, size, min_offset=base_offset, verify=False):
        if first < 0:
            first = header.max_timestamp
        if header.max_timestamp > largest:
            largest, largest_offset = header.max_timestamp, header.base_offset
    return SegmentEntry(base_offset, end_offset, size, Times(first, largest, largest_offset))


def finish_swap(files: Files, directory: Path, base_offset: int, end_offset: int) -> list[Path]:
    """Put `<base>-<end>.swap` in the place of the segments it replaces; returns the segments removed.

    May be repeated after a crash at any point: the swap file goes last.
    """
    removed = []
    for name in files.list_names(directory):
        for suffix in (layout.LOG, layout.INDEX, layout.TIME_INDEX):
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


def record_holes(files: Files, directory: Path) -> None:
    """Say durably, before the first batch goes, that a missing offset is no damage here. Waits for the disk."""
    if not files.exists(directory / layout.HOLES):
        files.write_durably(directory / layout.HOLES, b"offsets may be missing: compaction or repair took them\n")


def record_failed_flush(files: Files, directory: Path, reason: str) -> bool:
    """Say durably that a sync failed here; False if even that did not work."""
    try:
        files.write_durably(directory / layout.FLUSH_FAILED, reason.encode())
    except OSError:
        return False
    return True


def rewrite_after_failed_flush(files: Files, directory: Path, bases: Sequence[int]) -> None:
    for base in bases:
        path = layout.log_path(directory, base)
        copy = path.with_name(path.name + layout.TEMPORARY)
        source, target = files.open(path, write=False), files.open(copy, create=True)
        try:
            target.truncate(0)
            position = 0
            while chunk := source.pread(CHUNK_BYTES, position):
                position += target.pwrite([chunk], position)
            target.datasync()
        finally:
            source.close()
            target.close()
        files.rename(copy, path)
    files.sync_directory(directory)
    files.remove(directory / layout.FLUSH_FAILED)
    files.sync_directory(directory)
