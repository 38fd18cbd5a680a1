"""Files that an interrupted process leaves in a log's directory, and their treatment.

.tmp, .cleaned    incomplete: removed
.swap             complete: compaction is finished where it stopped (`recovery.swap_recovery`)
flush-failed      a sync failed; the kernel may have dropped the dirty pages and call them clean, so what is
                  in the page cache is copied into a new file, whose sync can be believed
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.runtime.files import Files
from penstock.storage import layout
from penstock.storage.recovery.swap_recovery import settle_swap
from penstock.storage.segment.batch_scanner import CHUNK_BYTES


def clear_leftovers(files: Files, directory: Path, names: list[str], notes: list[str] | None = None) -> list[str]:
    """Remove incomplete files, and settle swaps. Returns the names that are left; `notes` gets messages for people."""
    if not any(name.endswith((layout.TEMPORARY, layout.CLEANED, layout.SWAP)) for name in names):
        return names
    for name in names:
        if name.endswith((layout.TEMPORARY, layout.CLEANED)):
            files.remove(directory / name)
    for name in sorted(names):
        if (swapped := layout.swap_range(name)) is not None:
            note = settle_swap(files, directory, names, *swapped)
            if note is not None and notes is not None:
                notes.append(note)
    return files.list_names(directory)


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
