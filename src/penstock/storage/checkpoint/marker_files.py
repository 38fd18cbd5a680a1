"""Small files in a log's directory with facts for the next start that segments cannot hold.

holes          offsets may be missing without being damage: compaction or repair took them, or a parent's did
flush-failed   a sync failed, so the page cache cannot be believed (`recovery.crash_leftovers` rewrites the tail)
"""

from __future__ import annotations

from pathlib import Path

from penstock.runtime.files import Files
from penstock.storage import layout


def record_holes(files: Files, directory: Path) -> None:
    """Record durably, before the first hole appears, that missing offsets are not damage. Waits for the disk."""
    if not files.exists(directory / layout.HOLES):
        files.write_durably(directory / layout.HOLES, b"offsets may be missing: compaction or repair took them\n")


def record_failed_flush(files: Files, directory: Path, reason: str) -> bool:
    """Record durably that a sync failed here; False if even that did not work."""
    try:
        files.write_durably(directory / layout.FLUSH_FAILED, reason.encode())
    except OSError:
        return False
    return True
