"""The part of compaction in memory that runs in the worker process: one sealed segment at a time.

    begin, map_segment for the dirty ones until the map is full, clean_segment for all from the first on, end

The rules are those of the disk (`key_map`, `clean_batch`). A segment goes from process to process as
it is, so that no message is larger than a segment; the keys, which must last from one call to the next, stay here. If
the worker process was started again meanwhile they are gone, and the run with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.model.batch import read_header
from penstock.storage.compaction.clean_batch import BatchCleaner
from penstock.storage.compaction.key_map import KEY_COUNT_MAX, KeyMap
from penstock.storage.memory.segment import MemorySegment
from penstock.storage.segment.aborted_index import AbortedEntry, AbortedRanges


class CleaningRules(NamedTuple):
    """The facts of a log that a run needs."""

    first_dirty: int
    producer_last_offsets: Mapping[int, int]
    now_ms: int
    delete_retention_ms: int
    key_count_max: int = KEY_COUNT_MAX
    aborted: Sequence[AbortedEntry] = ()  # every transaction that was aborted and began in its sealed segments


class CleaningCounts(NamedTuple):
    clean_end: int
    keyless_count: int
    undecodable: Sequence[str]


class RunLost(Exception):
    """The worker process does not know this run: it was started again."""


class _Run:
    def __init__(self, rules: CleaningRules) -> None:
        self._aborted = AbortedRanges(rules.aborted)
        self.keys = KeyMap(rules.first_dirty, rules.key_count_max, self._aborted)
        self._rules = rules
        self._cleaner: BatchCleaner | None = None

    @property
    def cleaner(self) -> BatchCleaner:
        """Made when the keys are complete."""
        if self._cleaner is None:
            rules, keys = self._rules, self.keys
            self._cleaner = BatchCleaner(
                keys.latest,
                keys.clean_end,
                rules.producer_last_offsets,
                rules.now_ms,
                rules.delete_retention_ms,
                self._aborted,
            )
        return self._cleaner


# One at a time, by an id that its cleaner gave it.
_runs: dict[str, _Run] = {}


def begin(run_id: str, rules: CleaningRules) -> None:
    _runs.clear()
    _runs[run_id] = _Run(rules)


def map_segment(run_id: str, segment: MemorySegment) -> bool:
    """Remember the keys of a segment; False when no more fit."""
    keys = _found(run_id).keys
    for header, batch in segment.batches():
        if not keys.add(header, batch):
            return False
    keys.end_segment(segment.end_offset)
    return True


def clean_segment(run_id: str, segment: MemorySegment) -> MemorySegment | None:
    """The rest of a segment after cleaning; None if nothing was removed."""
    cleaner = _found(run_id).cleaner
    cleaned = MemorySegment(segment.base_offset)
    is_changed = False
    for header, batch in segment.batches():
        kept = cleaner.clean(header, batch)
        is_changed = is_changed or kept is not batch
        if kept is not None:
            cleaned.add(kept, header.last_offset, read_header(kept).max_timestamp)
    for entry in cleaner.aborted_left:
        cleaned.note_aborted(entry)
    cleaner.aborted_left = []
    cleaned.end_offset = segment.end_offset
    cleaned.seal()
    return cleaned if is_changed else None


def end(run_id: str) -> CleaningCounts:
    run = _found(run_id)
    del _runs[run_id]
    return CleaningCounts(run.keys.clean_end, run.cleaner.keyless_count, run.cleaner.undecodable)


def _found(run_id: str) -> _Run:
    if run_id not in _runs:
        raise RunLost(run_id)
    return _runs[run_id]
