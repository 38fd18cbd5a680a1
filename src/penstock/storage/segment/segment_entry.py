"""The numbers that describe a segment without opening it: in snapshots, in the catalog, and in compaction's reports."""

from __future__ import annotations

from typing import NamedTuple

from penstock.storage.segment.aborted_index import NONE_ABORTED, AbortedSummary
from penstock.storage.segment.time_index import Times


class SegmentEntry(NamedTuple):
    """A segment as it was at some moment: offsets [base_offset, end_offset), bytes, times, aborted transactions."""

    base_offset: int
    end_offset: int
    size: int
    times: Times
    aborted: AbortedSummary = NONE_ABORTED
