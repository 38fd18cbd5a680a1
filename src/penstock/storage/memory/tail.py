"""The segments of a log in memory and the end where batches are added. Loop thread; threads may read `segments`."""

from __future__ import annotations

from penstock.storage.admission.append_rules import must_roll
from penstock.storage.admission.status import Status
from penstock.storage.memory.budget import MemoryBudget
from penstock.storage.memory.segment import SEGMENT_BYTES_MAX, MemorySegment
from penstock.storage.segment.aborted_index import AbortedEntry


class MemoryTail:
    """Implements `admission.appender.Tail`. The tuple of segments is replaced, never changed in place."""

    __slots__ = ("_budget", "_status", "log_end", "segments", "size_bytes")

    def __init__(self, status: Status, budget: MemoryBudget) -> None:
        self._status = status
        self._budget = budget
        self.log_end = 0
        self.size_bytes = 0
        self.segments: tuple[MemorySegment, ...] = ()

    def write(
        self, batch: bytearray | memoryview, base_offset: int, last_offset: int, timestamp: int, now_ms: int
    ) -> None:
        size = len(batch)
        active = self.segments[-1] if self.segments else self.roll()
        is_full = active.size > 0 and active.size + size > SEGMENT_BYTES_MAX
        if is_full or must_roll(self._status.config, active, size, timestamp, last_offset):
            active = self.roll()
        active.add(batch, last_offset, timestamp)
        self.log_end = last_offset + 1
        self._resize(size)

    def note_aborted(self, entry: AbortedEntry) -> None:
        self.segments[-1].note_aborted(entry)

    def roll(self) -> MemorySegment:
        """Begin a new segment at the end of the log."""
        if self.segments:
            self.segments[-1].seal()
        segment = MemorySegment(self.log_end)
        self.segments = (*self.segments, segment)
        return segment

    def drop_front(self, count: int) -> None:
        """Forget the oldest segments."""
        freed = sum(segment.size for segment in self.segments[:count])
        self.segments = self.segments[count:]
        self._resize(-freed)

    def put_cleaned(self, segment: MemorySegment, cleaned: MemorySegment) -> None:
        """Compaction's output takes the place of a sealed segment, and joins the one before it if both fit in one."""
        if segment not in self.segments:
            return  # retention was faster
        at = self.segments.index(segment)
        before, after = self.segments[:at], self.segments[at + 1 :]
        merged_bytes_max = min(SEGMENT_BYTES_MAX, self._status.config.segment_bytes)
        if before and (before[-1].size == 0 or before[-1].size + cleaned.size <= merged_bytes_max):
            cleaned = before[-1].joined(cleaned)
            before = before[:-1]
        change = cleaned.size - sum(old.size for old in self.segments[len(before) : at + 1])
        self.segments = (*before, cleaned, *after)
        self._resize(change)

    def clear(self) -> None:
        """Forget all segments. Readers keep the ones they have."""
        self.segments = ()
        self._resize(-self.size_bytes)

    def _resize(self, change: int) -> None:
        self.size_bytes += change
        if change > 0:
            self._budget.take(change)
        else:
            self._budget.give_back(-change)
