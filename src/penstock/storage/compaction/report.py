"""The outcome of a run of compaction: the outputs that go into the log, and what an operator may want to know."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from penstock.storage.interface import Log
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.segment_entry import SegmentEntry

logger = logging.getLogger(__name__)


class CleanedGroup(NamedTuple):
    """Segments that become one; `path` is the output, `entry` describes it."""

    base_offsets: Sequence[int]
    path: Path
    entry: SegmentEntry
    aborted: Sequence[AbortedEntry] = ()


class CompactionReport(NamedTuple):
    groups: Sequence[CleanedGroup]
    clean_end: int  # everything below was compared with everything below
    bytes_before: int
    bytes_after: int
    keyless_count: int
    undecodable: Sequence[str]
    seconds: float


def log_report(log: Log, report: CompactionReport) -> None:
    name = f"{log.topic}-{log.partition.partition}"
    logger.info("%s compacted to offset %d: %d bytes became %d", name, report.clean_end, report.bytes_before,
              report.bytes_after)  # fmt: skip
    for problem in report.undecodable:
        logger.warning("%s: kept by compaction because it cannot be decoded: %s", name, problem)
    if report.keyless_count:
        logger.warning("%s: %d records without a key went with compaction", name, report.keyless_count)
