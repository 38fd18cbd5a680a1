"""Repair of damaged logs: `penstock log repair`. Only on request, and only while no process has the log open.

Bad bytes are copied into `.damaged` files first, durably, then taken out of their segments; gaps are
accepted. The offsets that were lost stay lost: none is given out again. Afterwards the log opens, serves
what is left and takes writes. May be repeated after a crash at any point.
"""

from __future__ import annotations

from pathlib import Path

from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.checkpoint.marker_files import record_holes
from penstock.storage.checkpoint.snapshot import Snapshot, encode_snapshot, newest_snapshot
from penstock.storage.log.recovered_log import RecoveredLog
from penstock.storage.recovery.crash_leftovers import clear_leftovers
from penstock.storage.recovery.recovery import recover
from penstock.storage.recovery.torn_tail import copy_region
from penstock.storage.recovery.verify import BadRegion, Report, verify_log
from penstock.storage.segment.batch_scanner import CHUNK_BYTES


def repair_log(
    files: Files, directory: Path, *, now_ms: int, log_start: int | None = None, compacted: bool = False
) -> Report:
    """Carry out the repair that `verify_log` describes. Returns its report from before the repair.

    An interrupted compaction is settled first, as at a start.
    """
    if files.exists(directory):
        clear_leftovers(files, directory, files.list_names(directory))
    report = verify_log(files, directory, log_start=log_start, compacted=compacted)
    if report.is_sound:
        return report
    record_holes(files, directory)
    snapshot, _ = newest_snapshot(files, directory, files.list_names(directory))
    for base_offset in sorted({one.base_offset for one in report.bad}):
        _repair_segment(files, directory, base_offset, [one for one in report.bad if one.base_offset == base_offset])
    _restart_from(files, directory, report, snapshot, now_ms)
    return report


def _repair_segment(files: Files, directory: Path, base_offset: int, regions: list[BadRegion]) -> None:
    path = layout.log_path(directory, base_offset)
    copy = path.with_name(path.name + layout.TEMPORARY)
    source, target = files.open(path, write=False), files.open(copy, create=True)
    try:
        target.truncate(0)
        position = written = 0
        for region in regions:
            kept = layout.damaged_path(directory, base_offset, region.start)
            copy_region(files, source, region.start, region.end, kept)
            written = _copy(source, target, position, region.start, written)
            position = region.end
        _copy(source, target, position, source.size(), written)
        target.datasync()
    finally:
        source.close()
        target.close()
    for derived in layout.derived_paths(directory, base_offset):
        if files.exists(derived):
            files.remove(derived)
    files.rename(copy, path)
    files.sync_directory(directory)


def _copy(source: File, target: File, start: int, end: int, at: int) -> int:
    """Append [start, end) of `source` at `at`; returns the position after it."""
    while start < end:
        chunk = source.pread(min(CHUNK_BYTES, end - start), start)
        start += len(chunk)
        at += target.pwrite([chunk], at)
    return at


def _restart_from(files: Files, directory: Path, report: Report, before: Snapshot | None, now_ms: int) -> None:
    """A snapshot of what is left, so that the log opens without finding the same gaps again."""
    if report.log_end > max((segment.next_offset for segment in report.segments), default=0):
        # No lost offset is given out again: the log goes on in a new segment above them.
        files.open(layout.log_path(directory, report.log_end), create=True).close()
        files.sync_directory(directory)
    for name in files.list_names(directory):
        if layout.offset_of(name, layout.SNAPSHOT) is not None:
            files.remove(directory / name)
    found = recover(files, directory, log_start=report.log_end, now_ms=now_ms, compacted=True)
    assert found.damage is None, f"still damaged: {found.damage}"
    _write_snapshot(files, directory, found, before)


def _write_snapshot(files: Files, directory: Path, found: RecoveredLog, before: Snapshot | None) -> None:
    epochs = list(found.epochs.entries)
    if before is not None:
        found.producers.add_newer(before.producers)
        epochs = list(before.epochs) if len(before.epochs) > len(epochs) else epochs
    entries = [segment.entry() for segment in found.segments]
    data = encode_snapshot(found.log_end, entries, epochs, found.producers.encode())
    files.write_durably(layout.snapshot_path(directory, found.log_end), data)
