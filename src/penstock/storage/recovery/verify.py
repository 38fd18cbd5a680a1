"""Reading a log's directory from end to end and saying what is wrong: `penstock log verify`.

It changes nothing. Every batch has its CRC checked, in every segment, snapshot or not; the end of bad bytes is found by
searching for the next whole batch. The report also says what `penstock log repair` would do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.checkpoint.snapshot import Snapshot, newest_snapshot
from penstock.storage.recovery.recovery import segment_bases
from penstock.storage.segment.aborted_index import AbortedIndex
from penstock.storage.segment.batch_scanner import BatchScanner, ExpectedOffsets, bounded_end, find_batch
from penstock.storage.segment.segment_index import SMALL_BYTES, read_index_files

_REBUILT = "missing or stale: is rebuilt when used"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRegion:
    """Bytes [start, end) of a segment that hold no batch; offsets [first_lost, end_lost) may have been there."""

    base_offset: int
    start: int
    end: int
    reason: str
    first_lost: int
    end_lost: int
    is_tail: bool  # nothing valid comes after it in the whole log

    def describe(self) -> str:
        lost = (
            f"offsets {self.first_lost} to {self.end_lost - 1}"
            if self.end_lost > self.first_lost
            else "no known offset"
        )
        return f"segment {self.base_offset}, bytes {self.start} to {self.end - 1}: {self.reason}; {lost}"


@dataclass(slots=True, kw_only=True)
class SegmentReport:
    base_offset: int
    size: int
    batches: int = 0
    records: int = 0
    next_offset: int = 0
    index: str = "none needed"  # ok, missing or stale
    aborted_index: str = "none needed"  # likewise


@dataclass(slots=True, kw_only=True)
class Report:
    """The contents of a directory. A sound log opens, serves and accepts everything."""

    directory: Path
    segments: list[SegmentReport] = field(default_factory=list)
    bad: list[BadRegion] = field(default_factory=list)
    missing: list[tuple[int, int]] = field(default_factory=list)  # offsets [first, end) that no segment has
    snapshot: str = "missing"
    log_end: int = 0

    @property
    def is_sound(self) -> bool:
        return not self.bad and not self.missing

    @property
    def batches(self) -> int:
        return sum(segment.batches for segment in self.segments)

    @property
    def records(self) -> int:
        return sum(segment.records for segment in self.segments)

    @property
    def lost(self) -> list[tuple[int, int]]:
        """Offsets [first, end) that a repair gives up for good."""
        ranges = [(one.first_lost, one.end_lost) for one in self.bad if one.end_lost > one.first_lost]
        return sorted({*ranges, *self.missing})

    @property
    def repair_steps(self) -> list[str]:
        steps = []
        for one in self.bad:
            verb = "cut" if one.is_tail else "move aside"
            steps.append(f"{verb} {one.end - one.start} bytes of segment {one.base_offset} from byte {one.start} on")
        steps += [f"go on without offsets {first} to {end - 1}" for first, end in self.missing]
        return steps


def verify_log(files: Files, directory: Path, *, log_start: int | None = None, compacted: bool = False) -> Report:
    """Read everything. `log_start` as the metadata has it; compacted logs may have holes between segments."""
    report = Report(directory=directory)
    try:
        names = files.list_names(directory)
    except FileNotFoundError:
        return report
    snapshot, is_newest = newest_snapshot(files, directory, names)
    if snapshot is not None:
        report.snapshot = f"ends at {snapshot.log_end}" + ("" if is_newest else ", a newer one is unreadable")
    compacted = compacted or layout.HOLES in names
    bases = segment_bases(names)
    expected = log_start if log_start is not None else (bases[0] if bases else 0)
    for index, base in enumerate(bases):
        end = bases[index + 1] if index + 1 < len(bases) else None
        if base > expected and not compacted and not _explained(report, expected):
            report.missing.append((expected, base))
        expected = max(_verify_segment(files, report, base, end, has_holes=compacted), base)
    _check_end(report, snapshot, expected)
    if snapshot is not None and is_newest:
        _check_aborted(files, report, snapshot)
    return report


def _verify_segment(files: Files, report: Report, base: int, end_offset: int | None, *, has_holes: bool) -> int:
    """One segment; returns the offset after its last batch."""
    file = files.open(layout.log_path(report.directory, base), write=False)
    try:
        size = file.size()
        found = SegmentReport(base_offset=base, size=size, next_offset=base)
        report.segments.append(found)
        position = 0
        while position < size:
            # After bad bytes there is a hole; whether the last batch leads to the next segment is seen by the caller.
            holes = has_holes or position > 0
            scanner = BatchScanner(
                file,
                position,
                size,
                ExpectedOffsets(found.next_offset, holes, end=end_offset, limit=bounded_end(base, end_offset)),
                verify=True,
                allows_preallocation=end_offset is None or not holes,
            )
            for _, header in scanner:
                found.records += header.record_count
            found.batches += scanner.batch_count
            found.next_offset = scanner.next_offset
            position = scanner.position
            if scanner.reason is None:
                break  # at the end, or where preallocated zeros begin
            if position < size:
                position = _note_bad(file, report, found, position, scanner.reason, end_offset)
        if size > SMALL_BYTES:
            written = read_index_files(files, report.directory, base, size)
            found.index = _REBUILT if written is None else "ok"
    finally:
        file.close()
    return found.next_offset


def _check_aborted(files: Files, report: Report, snapshot: Snapshot) -> None:
    """Check the files with aborted transactions. Only the snapshot knows what they must hold."""
    summaries = {entry.base_offset: entry.aborted for entry in snapshot.segments if entry.aborted.entry_count}
    for segment in report.segments:
        if segment.base_offset in summaries:
            path = layout.aborted_index_path(report.directory, segment.base_offset)
            index = AbortedIndex(summaries[segment.base_offset])
            is_good = files.exists(path) and index.take_file(files.read_bytes(path))
            segment.aborted_index = "ok" if is_good else _REBUILT


def _note_bad(
    file: File, report: Report, found: SegmentReport, position: int, reason: str, end_offset: int | None
) -> int:
    """Record bad bytes. Returns the position to continue from."""
    following = find_batch(file, position + 1, found.size, min_offset=found.next_offset)
    if following is None:
        end, end_lost = found.size, found.next_offset if end_offset is None else end_offset
    else:
        end, end_lost = following, int.from_bytes(file.pread(8, following), "big")
    report.bad.append(
        BadRegion(
            base_offset=found.base_offset,
            start=position,
            end=end,
            reason=reason,
            first_lost=found.next_offset,
            end_lost=end_lost,
            is_tail=following is None and end_offset is None,
        )
    )
    return end


def _explained(report: Report, expected: int) -> bool:
    """Whether the offsets after `expected` are already said to be lost with bad bytes."""
    return bool(report.bad) and report.bad[-1].first_lost <= expected < report.bad[-1].end_lost


def _check_end(report: Report, snapshot: Snapshot | None, expected: int) -> None:
    """Check that everything that was synced according to the snapshot is there."""
    report.log_end = expected
    if snapshot is not None and snapshot.log_end > expected:
        report.log_end = snapshot.log_end
        if report.bad and report.bad[-1].is_tail:
            report.bad[-1] = _extended(report.bad[-1], snapshot.log_end)
        else:
            report.missing.append((expected, snapshot.log_end))


def _extended(region: BadRegion, end_lost: int) -> BadRegion:
    return BadRegion(
        base_offset=region.base_offset,
        start=region.start,
        end=region.end,
        reason=region.reason,
        first_lost=region.first_lost,
        end_lost=end_lost,
        is_tail=True,
    )
