"""Cutting of a torn tail: the remains, after a power cut, of writes that were never acknowledged.

The bytes are kept beside the log, without the zeros at their end, for people to look at; no program reads them back.
The kept copy is durable before the log gets shorter.
"""

from __future__ import annotations

from pathlib import Path

from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.segment.batch_scanner import CHUNK_BYTES


def cut_tail(files: Files, directory: Path, file: File, base_offset: int, position: int, size: int) -> str:
    """Truncate the segment to `position`; returns where the bytes went, for the report."""
    kept = _end_of_content(file, position, size) - position
    outcome = "all of them zero"
    if kept:
        path = layout.cut_path(directory, base_offset, position)
        copy_region(files, file, position, position + kept, path)
        outcome = f"kept in {path.name}"
    file.truncate(position)
    file.datasync()
    files.sync_directory(directory)
    return outcome


def copy_region(files: Files, file: File, start: int, end: int, path: Path) -> None:
    """Copy bytes of a segment into a file of their own, durably."""
    target = files.open(path, create=True)
    try:
        target.truncate(0)
        position = start
        while position < end:
            chunk = file.pread(min(CHUNK_BYTES, end - position), position)
            if not chunk:
                break
            target.pwrite([chunk], position - start)
            position += len(chunk)
        target.datasync()
    finally:
        target.close()
    files.sync_directory(path.parent)


def _end_of_content(file: File, start: int, end: int) -> int:
    """Where the zeros at the end of [start, end) begin."""
    while end > start:
        first = max(start, end - CHUNK_BYTES)
        content = file.pread(end - first, first).rstrip(b"\x00")
        if content:
            return first + len(content)
        end = first
    return start
