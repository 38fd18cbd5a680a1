"""One segment: a file of record batches, its index, and how to read a slice of it.

A `Segment` holds numbers and no descriptor; the caller brings the file. The log that owns it is the only one to change
it, on the event loop. Reads may run in threads beside appends, without a lock: an append writes the bytes, then raises
`size`, then `end_offset`, and a read looks at them in the opposite order. So the bytes up to an offset below the
`end_offset` that a read saw are inside the `size` that it sees afterwards, and an offset that is missing there is
damage and not a race.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from penstock.model.batch import HEADER_BYTES, LOG_OVERHEAD_BYTES
from penstock.runtime.files import File, Files
from penstock.storage import layout
from penstock.storage.interface import ReadSlice
from penstock.storage.segment.aborted_index import NONE_ABORTED, AbortedEntry, AbortedIndex, AbortedSummary
from penstock.storage.segment.batch_scanner import CorruptBatch
from penstock.storage.segment.checked_regions import VerifiedRegions
from penstock.storage.segment.read_window import Chain, Window
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.segment_index import SegmentIndex
from penstock.storage.segment.time_index import NO_TIMESTAMP, Times

EMPTY_SLICE = ReadSlice(b"", -1, -1)


class ReadLimits(NamedTuple):
    """How far a read may go: `end_position` is where the last batch below offset `end` ends, -1 if not known."""

    max_bytes: int
    end: int
    end_position: int
    one_batch_at_least: bool
    wait: bool


class Segment:
    """Offsets [base_offset, end_offset) in `size` bytes. The active segment's end rises with every append."""

    __slots__ = (
        "aborted",
        "base_offset",
        "end_offset",
        "first_timestamp",
        "has_holes",
        "hint",
        "index",
        "index_written",
        "indexed_to",
        "known_end",
        "largest_timestamp",
        "largest_timestamp_offset",
        "path",
        "size",
        "verified",
    )

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        *,
        known_bytes: int = 0,
        known_end: int | None = None,
        has_holes: bool = False,
    ) -> None:
        """`known_bytes`: how much of the file was there before this process, up to offset `known_end`; its index is
        loaded on demand. `has_holes`: compaction or repair may have taken batches out of it.
        """
        self.path = layout.log_path(directory, base_offset)
        self.base_offset = base_offset
        self.known_end = base_offset if known_end is None else known_end
        self.end_offset = self.known_end
        self.has_holes = has_holes
        self.size = known_bytes
        self.first_timestamp = NO_TIMESTAMP
        self.largest_timestamp = NO_TIMESTAMP
        self.largest_timestamp_offset = -1
        self.index = SegmentIndex(base_offset, known_bytes, self.known_end)
        self.indexed_to = known_bytes  # position of the last index entry
        self.index_written = False
        self.verified = VerifiedRegions(known_bytes)
        self.aborted: AbortedIndex | None = None  # hardly any segment has one
        self.hint = (-1, 0)  # where the last read stopped: offset and position

    @property
    def times(self) -> Times:
        return Times(self.first_timestamp, self.largest_timestamp, self.largest_timestamp_offset)

    def entry(self) -> SegmentEntry:
        return SegmentEntry(self.base_offset, self.end_offset, self.size, self.times, self.aborted_summary)

    @property
    def aborted_summary(self) -> AbortedSummary:
        return NONE_ABORTED if self.aborted is None else self.aborted.summary

    def note_aborted(self, entry: AbortedEntry) -> None:
        """Note the marker of an aborted transaction, written or found at the end."""
        if self.aborted is None:
            self.aborted = AbortedIndex()
        self.aborted.add(entry)

    def note_batch(self, base_offset: int, next_offset: int, size: int, timestamp: int, interval: int) -> None:
        """Note a batch, written or found at the end. `size` rises before `end_offset`: see `read`."""
        position = self.size
        if position - self.indexed_to > interval:
            self.index.live_part().add(base_offset - self.base_offset, position, self.largest_timestamp)
            self.indexed_to = position
        if timestamp > self.largest_timestamp:
            self.largest_timestamp = timestamp
            self.largest_timestamp_offset = base_offset
        if self.first_timestamp < 0:
            self.first_timestamp = timestamp
        self.size = position + size
        self.end_offset = next_offset

    def drop_index(self) -> None:
        """Forget the index of a sealed segment; its files, or a scan, give it back."""
        self.index = SegmentIndex(self.base_offset, self.size, self.end_offset)

    def drop_aborted(self) -> None:
        """Forget the aborted transactions of a sealed segment; their file, or a scan, gives them back."""
        if self.aborted is not None:
            self.aborted = AbortedIndex(self.aborted.summary)

    def load_index(self, index: SegmentIndex, files: Files, file: File, interval: int) -> None:
        """Make the segment's index whole. Any thread. CorruptBatch if it must be rebuilt and the batches are wrong."""
        index.load(files, self.path.parent, file, interval, has_holes=self.has_holes)

    def needs_index(self, offset: int, limits: ReadLimits) -> bool:
        """Whether a read has to search: it does not if it goes from the segment's begin to a known end."""
        return offset > self.base_offset or not 0 <= limits.end_position <= limits.max_bytes

    def read(self, file: File, index: SegmentIndex, offset: int, limits: ReadLimits, verify: str) -> ReadSlice | None:
        """Whole batches from the one that holds `offset`; None if the segment has none at or above it.

        `index` is the segment's, and whole if the read needs it. Raises BlockingIOError (wait=False) or CorruptBatch.
        """
        # `end_offset` is read before `size`, which an append raises first: the bytes of every offset below the end that
        # is seen here are within the size that is seen below. In the other order, a batch that is appended in between
        # would look like an offset that is missing, which is damage.
        end_offset = self.end_offset
        hint_offset, hint_position = self.hint
        exact = hint_offset == offset
        start = hint_position if exact else 0 if offset <= self.base_offset else index.floor(offset)
        end_position = limits.end_position if limits.end_position >= 0 else self.size
        if start >= end_position:
            return None
        want = limits.max_bytes if exact else limits.max_bytes + 4096
        window = Window(file, self.base_offset, start, end_position, limits.wait)
        window.fill(start, max(want, HEADER_BYTES))
        if verify != "off" and (verify == "always" or not self.verified.covers(start, min(start + want, end_position))):
            indexed = None if exact else index.offset_at(start)
            at_least = offset if exact else self.base_offset
            anchor = (at_least, not self.has_holes) if indexed is None else (indexed, True)
            self._check(window, anchor, offset, limits.end, always=verify == "always")
        # Unless `verify` is off, bytes up to `window.limit` are sound now: this process has checked or written them.
        first = window.find(start, offset)
        if first < 0:
            if not self.has_holes and offset < min(limits.end, end_offset):
                raise CorruptBatch(end_position, offset, f"offset {offset} is not where it should be")
            return None
        base_offset, length, delta = window.peek(first)
        size = length + LOG_OVERHEAD_BYTES
        if base_offset + delta >= limits.end:
            return EMPTY_SLICE
        if size > limits.max_bytes and not limits.one_batch_at_least:
            return EMPTY_SLICE
        window.hold(first, size, limits.max_bytes)
        stop, next_offset = self._cut(window, index, first, base_offset + delta + 1, size, limits)
        # One tuple, replaced as a whole: a reader in another thread sees an offset together with its own position.
        self.hint = (next_offset, stop)
        return ReadSlice(window.slice(first, stop), base_offset, next_offset, window.part(first, stop))

    def _check(self, window: Window, anchor: tuple[int, bool], offset: int, stop_offset: int, *, always: bool) -> None:
        """Check all that is about to be served and was not checked by this process yet: see `segment.read_window`.

        `anchor`: no batch from the window's start on begins below this offset, or the first begins just there.
        """
        known = self.verified.trusted_from
        end = window.limit if always else min(window.limit, known)
        chain = Chain(window.start, *anchor, self.has_holes, end, known, self.known_end)
        checked = window.check(chain, offset, stop_offset, None if always else self.verified)
        if checked < end or always:
            window.limit = checked

    def _cut(
        self, window: Window, index: SegmentIndex, first: int, first_end: int, first_size: int, limits: ReadLimits
    ) -> tuple[int, int]:
        """Where the last batch that may be served ends, and the offset after it."""
        stop = min(first + max(limits.max_bytes, first_size), window.end, window.limit)
        position, next_offset = first + first_size, first_end
        if stop == limits.end_position:
            return stop, min(limits.end, self.end_offset)
        # Jump to the last known batch boundary inside, walk over the rest.
        jump = index.floor_position(stop - HEADER_BYTES)
        if limits.end_position < 0:
            jump = min(jump, index.floor(limits.end))
        if jump > position:
            position, next_offset = jump, window.peek(jump)[0]
        while position + HEADER_BYTES <= stop:
            base_offset, length, delta = window.peek(position)
            after = position + length + LOG_OVERHEAD_BYTES
            if after > stop or base_offset + delta >= limits.end:
                break
            position, next_offset = after, base_offset + delta + 1
        return position, next_offset


def segment_from_entry(directory: Path, entry: SegmentEntry, *, has_holes: bool) -> Segment:
    """A sealed segment whose index files are written, from the numbers in a recovery point."""
    segment = Segment(
        directory, entry.base_offset, known_bytes=entry.size, known_end=entry.end_offset, has_holes=has_holes
    )
    segment.first_timestamp, segment.largest_timestamp, segment.largest_timestamp_offset = entry.times
    if entry.aborted.entry_count:
        segment.aborted = AbortedIndex(entry.aborted)
    segment.index_written = True
    return segment
