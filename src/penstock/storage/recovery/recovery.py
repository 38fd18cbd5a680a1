"""Recovery of a log's directory: find the recovery point, scan everything above it, and classify each anomaly.

    snapshot reads well           everything below it was synced; scan from there (nothing, after a clean stop)
    no snapshot                   scan everything
    bad bytes, nothing after      a torn tail: cut, the bytes kept beside the log, reported
    bad bytes, valid batch after  damage: never cut; readable up to it, no writes, `penstock log repair`
    a segment gone or too short   damage, likewise
    flush-failed                  the page cache cannot be trusted: rewrite the tail into new files first

A torn tail and damage differ in what may follow: a write that was cut off by a crash was never acknowledged, so cutting
it loses no promise. Where a valid batch follows, bytes that were once synced may have changed, and cutting would lose
acknowledged records. A batch inside the value of a torn one cannot be told from that, so it is damage, too;
coordinators write none (`broker.coordination.look_alikes`).

What was scanned is synced before it is served: a retry must not be deduplicated against bytes that exist in memory
only, which a second power cut would take. Plain functions over `Files`, so that a long scan can run in a worker
process; the result can be pickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from penstock.model.batch import BatchHeader
from penstock.model.errors import KafkaError
from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.admission.epochs import EpochEntry, Epochs
from penstock.storage.admission.undecided import Transactions
from penstock.storage.checkpoint.snapshot import Snapshot, newest_snapshot
from penstock.storage.log.recovered_log import Damage, RecoveredLog
from penstock.storage.recovery.crash_leftovers import clear_leftovers, rewrite_after_failed_flush
from penstock.storage.recovery.torn_tail import cut_tail
from penstock.storage.segment.aborted_index import UNKNOWN_ABORTED, AbortedIndex
from penstock.storage.segment.batch_scanner import BatchScanner, ExpectedOffsets, bounded_end, find_batch
from penstock.storage.segment.segment import Segment, segment_from_entry
from penstock.storage.segment.segment_entry import SegmentEntry


class LongScan(Exception):
    """More bytes to scan than the caller allowed; nothing was changed."""


def recover(
    files: Files,
    directory: Path,
    *,
    log_start: int,
    now_ms: int,
    epochs: Sequence[EpochEntry] = (),
    compacted: bool = False,
    index_interval_bytes: int = 4096,
    tail_is_synced: bool = False,
    scan_bytes_max: int | None = None,
) -> RecoveredLog:
    """Bring a log's directory into order. `tail_is_synced`: the caller has synced the whole file system since.

    Offsets may be missing if compaction is configured, or was at work before (`layout.HOLES`).
    """
    try:
        names = files.list_names(directory)
    except FileNotFoundError:
        return RecoveredLog(log_start=log_start, log_end=log_start, epochs=Epochs(epochs))
    notes: list[str] = []
    names = clear_leftovers(files, directory, names, notes)
    snapshot, is_newest = newest_snapshot(files, directory, names)
    bases = segment_bases(names)
    if layout.FLUSH_FAILED in names:  # before the scan: the pages that it reads may never have reached the disk
        first = snapshot.segments[-1].base_offset if snapshot is not None else 0
        rewrite_after_failed_flush(files, directory, [base for base in bases if base >= first])
    has_holes = compacted or layout.HOLES in names
    recovery = _Recovery(files, directory, log_start, now_ms, index_interval_bytes, has_holes)
    recovery.result.epochs = Epochs(epochs)
    recovery.result.notes = notes
    recovery.scan_bytes_max = scan_bytes_max
    if snapshot is not None:
        recovery.start_from(snapshot, bases, position_holds=is_newest)
    recovery.scan(bases)
    # A tail that is only in the page cache must not be served: a second power cut would take it back, and with it the
    # sequences against which retries have been deduplicated since.
    if not tail_is_synced or recovery.result.cut_bytes:
        recovery.sync()
    return recovery.result


def segment_bases(names: Sequence[str]) -> list[int]:
    return sorted(base for name in names if (base := layout.offset_of(name, layout.LOG)) is not None)


class _Recovery:
    """The steps of `recover`, and the state they share."""

    def __init__(
        self, files: Files, directory: Path, log_start: int, now_ms: int, interval: int, has_holes: bool
    ) -> None:
        self.files = files
        self.directory = directory
        self.log_start = log_start
        self.now_ms = now_ms
        self.interval = interval
        self.has_holes = has_holes
        self.result = RecoveredLog(log_start=log_start, log_end=log_start)
        self.next_offset = -1  # -1: nothing is known yet, the first segment may begin anywhere
        self.scan_bytes_max: int | None = None
        self.known_end = -1  # what lies below is in the producers of the snapshot
        self.known_transactions = Transactions()  # of what lies below, where that is scanned, too
        self.resume: SegmentEntry | None = None
        self.scanned: list[Segment] = []

    def start_from(self, snapshot: Snapshot, bases: list[int], *, position_holds: bool) -> None:
        """Take over what the snapshot says of sealed segments, and check that they are there."""
        result = self.result
        result.producers = snapshot.producers
        self.known_end = snapshot.log_end
        result.epochs = Epochs([*snapshot.epochs, *result.epochs.entries])
        result.snapshot_end = snapshot.log_end if position_holds else -1
        result.log_end = max(self.log_start, snapshot.log_end)
        if not position_holds:
            return  # an older one: the segments may have changed since, only its producers are of use
        present = set(bases)
        self._drop_expired(snapshot.segments[0].base_offset, bases)
        for entry in snapshot.segments:
            if entry.end_offset <= self.log_start and entry.base_offset not in present:
                continue  # retention removed it after this snapshot
            if entry.base_offset not in present:
                self._damaged(entry.base_offset, 0, f"segment {entry.base_offset} is missing")
                return
            if entry is not snapshot.segments[-1]:
                size = self.files.file_size(layout.log_path(self.directory, entry.base_offset))
                if size < entry.size:
                    reason = f"{size} bytes, {entry.size} were synced"
                    self._damaged(entry.base_offset, size, reason, entry.base_offset)
                    return
                result.segments.append(segment_from_entry(self.directory, entry, has_holes=self.has_holes))
            self.next_offset = entry.end_offset
        last = snapshot.segments[-1]
        if last.base_offset in present:
            self.resume = last
            self.next_offset = last.base_offset
        else:
            self.next_offset = -1  # retention took all of it; what is there begins at or below the log start
            self._drop([segment.base_offset for segment in result.segments], bases)  # older than what has expired
            result.segments.clear()

    def _drop_expired(self, first_base: int, bases: list[int]) -> None:
        """Remove segments that retention dropped from the log but could not delete before the process ended."""
        self._drop([base for base in bases if base < first_base <= self.log_start], bases)

    def _drop(self, expired: Sequence[int], bases: list[int]) -> None:
        for base in expired:
            bases.remove(base)
            self.files.remove(layout.log_path(self.directory, base))

    def scan(self, bases: list[int]) -> None:
        """Go through the segments from the recovery point on."""
        if self.result.damage is not None:
            return
        first = 0 if self.resume is None else self.resume.base_offset
        todo = [base for base in bases if base >= first]
        if self.resume is None and todo and todo[0] > self.log_start:
            self._damaged(todo[0], 0, f"segments before {todo[0]} are missing", self.log_start)
            return
        for index, base in enumerate(todo):
            if self.next_offset >= 0 and not self._follows(base, todo[index:]):
                return
            segment = self._segment_to_scan(base)
            file = self.files.open(segment.path, write=True)
            try:
                good = self._scan_segment(file, segment, todo[index + 1 :])
            finally:
                file.close()
            if not good:
                return
        if not self.result.segments and self.result.log_end > self.log_start:
            self._damaged(self.log_start, 0, "no segment is there", self.log_start)
            return
        self._finish()

    def _follows(self, base: int, rest: Sequence[int]) -> bool:
        """Whether a segment begins where the one before ended; only compaction leaves holes."""
        holes_allowed = self.has_holes and self.resume is None
        if base == self.next_offset or (holes_allowed and base > self.next_offset):
            return True
        if self._find_later(rest, self.next_offset) is None:
            self._remove_torn(rest)
            self._finish()
        else:
            reason = f"segment {base} follows offset {self.next_offset - 1}"
            self._damaged(base, 0, reason, self.next_offset)
        return False

    def _scan_segment(self, file: File, segment: Segment, later: Sequence[int]) -> bool:
        size = file.size()
        if size < segment.size:
            reason = f"{size} bytes, {segment.size} were synced"
            was_aborted = segment.aborted is not None
            segment = Segment(self.directory, segment.base_offset, has_holes=self.has_holes)
            segment.aborted = AbortedIndex(UNKNOWN_ABORTED) if was_aborted else None
        else:
            reason = None
        start = segment.size
        self.result.scanned_bytes += size - start
        if self.scan_bytes_max is not None and self.result.scanned_bytes > self.scan_bytes_max:
            raise LongScan(f"{self.directory} has more than {self.scan_bytes_max} bytes to scan")
        scanner = BatchScanner(
            file,
            start,
            size,
            ExpectedOffsets(segment.end_offset, self.has_holes, limit=bounded_end(segment.base_offset)),
            verify=True,
            allows_preallocation=True,
        )
        for position, header in scanner:
            next_offset = header.next_offset
            segment.note_batch(header.base_offset, next_offset, header.size_bytes, header.max_timestamp, self.interval)
            if next_offset > self.result.snapshot_end:
                self._replay(header.leader_epoch, header.base_offset)
                if header.producer_id >= 0:
                    self._replay_producer(segment, scanner, position, header)
        self.result.segments.append(segment)
        if scanner.position > start:
            self.scanned.append(segment)
        self.next_offset = segment.end_offset
        reason = reason or scanner.reason
        if reason is None and scanner.position < size:
            file.truncate(scanner.position)  # not synced: zeros that come back harm nothing
            zeros = size - scanner.position
            self.result.scanned_bytes -= zeros
            self.result.notes.append(
                f"took {zeros} zeros after the last batch of {segment.path} away: preallocated, most likely"
            )
        return reason is None or self._settle(file, segment, size, reason, later)

    def _segment_to_scan(self, base: int) -> Segment:
        entry = self.resume
        if entry is None or entry.base_offset != base:
            return Segment(self.directory, base, has_holes=self.has_holes)
        segment = segment_from_entry(self.directory, entry, has_holes=self.has_holes)
        segment.index_written = False
        return segment

    def _replay(self, leader_epoch: int, base_offset: int) -> None:
        if leader_epoch > self.result.epochs.latest:
            self.result.epochs.begin(leader_epoch, base_offset)

    def _replay_producer(self, segment: Segment, scanner: BatchScanner, position: int, header: BatchHeader) -> None:
        marker = None
        if header.is_control:
            try:
                marker = scanner.marker_at(position, header)
            except KafkaError as error:
                self.result.notes.append(f"a control batch at offset {header.base_offset} of {segment.path}: {error}")
        if header.next_offset > self.known_end:
            aborted = self.result.producers.replay(header, marker, self.now_ms)
        else:
            aborted = self.known_transactions.follow(header, marker)
        if aborted is not None:
            segment.note_aborted(aborted)

    def _settle(self, file: File, segment: Segment, size: int, reason: str, later: Sequence[int]) -> bool:
        """Decide whether bad bytes at the segment's end are a torn tail, which is cut, or damage.

        Returns whether to go on.
        """
        position = segment.size
        lost = self.resume is not None and segment.base_offset == self.resume.base_offset
        if lost and self.resume is not None and position < self.resume.size:  # these bytes were synced: never torn
            self._damaged(segment.base_offset, position, reason, segment.end_offset)
            return False
        # If a valid batch follows, the bad bytes may once have been synced and acknowledged, and must not be cut.
        # Without one they are taken for the end of writes that a crash cut off before their sync.
        found = find_batch(file, position, size, min_offset=segment.end_offset)
        if found is None:
            found = self._find_later(later, segment.end_offset)
        if found is not None:
            self._damaged(segment.base_offset, position, f"{reason}, and a valid batch after it")
            return False
        outcome = cut_tail(self.files, self.directory, file, segment.base_offset, position, size)
        self.result.cut_bytes += size - position
        self.result.notes.append(
            f"cut {size - position} bytes at byte {position} of {segment.path}: {reason}; {outcome}"
        )
        self._remove_torn(later)
        self.scanned.append(segment)
        self._finish()
        return False

    def _remove_torn(self, bases: Sequence[int]) -> None:
        """Remove segments without a single valid batch, which were created just before the power cut."""
        for base in bases:
            path = layout.log_path(self.directory, base)
            file = self.files.open(path, write=True)
            try:
                size = file.size()
                if size:
                    outcome = cut_tail(self.files, self.directory, file, base, 0, size)
                    self.result.notes.append(f"cut all {size} bytes of {path}; {outcome}")
                    self.result.cut_bytes += size
            finally:
                file.close()
            self.files.remove(path)

    def _find_later(self, later: Sequence[int], min_offset: int) -> int | None:
        for base in later:
            file = self.files.open(layout.log_path(self.directory, base), write=False)
            try:
                found = find_batch(file, 0, file.size(), min_offset=min_offset)
            finally:
                file.close()
            if found is not None:
                return found
        return None

    def _finish(self) -> None:
        """Set the end of each segment to the beginning of the next, now that all are known."""
        segments = self.result.segments
        for segment, following in pairwise(segments):
            segment.end_offset = following.base_offset
        if segments:
            self.result.log_end = max(segments[-1].end_offset, segments[-1].base_offset)

    def _damaged(self, base_offset: int, position: int, reason: str, readable_end: int | None = None) -> None:
        self._finish()
        result = self.result
        end = readable_end if readable_end is not None else self.next_offset
        end = max(end, self.log_start)
        result.damage = Damage(base_offset=base_offset, position=position, readable_end=end, reason=reason)
        result.log_end = end

    def sync(self) -> None:
        """Sync recovered tails before they are served."""
        for segment in self.scanned:
            file = self.files.open(segment.path, write=True)
            try:
                file.datasync()
            finally:
                file.close()
        if self.scanned:
            self.files.sync_directory(self.directory)
