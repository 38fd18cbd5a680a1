"""One run of compaction: a log's cleanable segments from the request to the last swap.

find aborted     on the loop, or in the disk thread if that has to wait
compact          worker process; all output is written before the first segment is replaced
swap (thread)    `compaction.swap`, group by group from the oldest: no tombstone goes before the records it deletes
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.runtime.worker import WorkerDied
from penstock.storage.compaction.cleanable import Cleanable
from penstock.storage.compaction.compaction import CompactionRequest, DamagedSegment, compact, remove_outputs
from penstock.storage.compaction.report import CompactionReport
from penstock.storage.compaction.swap import SegmentSwap
from penstock.storage.engine.jobs.job import MaintenanceHost
from penstock.storage.interface import LogState
from penstock.storage.log.log import DiskLog
from penstock.storage.segment.aborted_index import AbortedEntry
from penstock.storage.segment.segment import Segment


class RunEnd(NamedTuple):
    """`report` if the log is compacted, `error` if that failed, neither if the run was overtaken.

    `is_final`: files are half swapped or bytes are wrong, which only the next start can settle.
    """

    report: CompactionReport | None = None
    error: BaseException | None = None
    is_final: bool = False


class CompactionRun:
    """Run of one compaction. `on_end` is called once. Loop thread."""

    def __init__(
        self,
        host: MaintenanceHost,
        log: DiskLog,
        cleanable: Cleanable[Segment],
        now_ms: int,
        on_end: Callable[[DiskLog, RunEnd], None],
    ) -> None:
        self._host = host
        self._log = log
        self._cleanable = cleanable
        self._now_ms = now_ms
        self._on_end = on_end
        self._report: CompactionReport | None = None
        self._swapped = 0  # groups of the report that are in place
        self._waits = False  # for other work on the log, before the next swap

    def start(self) -> None:
        end = self._cleanable.segments[-1].end_offset
        try:
            self._submit(self._log.aborted_entries(0, end, wait=False))
        except BlockingIOError:
            self._find_aborted(end)

    def tick(self) -> None:
        if self._waits:
            self._swap_next()

    def _find_aborted(self, end: int) -> None:
        found: list[AbortedEntry] = []

        def find() -> None:
            found.extend(self._log.aborted_entries(0, end, wait=True))

        def done(error: BaseException | None) -> None:
            if error is not None:
                self._end(error=error)
            elif self._is_usable():
                self._submit(found)
            else:
                self._end()

        self._host.run_for(self._log, done, find)

    def _submit(self, aborted: Sequence[AbortedEntry]) -> None:
        log, segments = self._log, self._cleanable.segments
        request = CompactionRequest(
            directory=log.directory,
            segments=[segment.entry() for segment in segments],
            first_dirty=self._cleanable.first_dirty,
            segment_bytes=log.config.segment_bytes,
            delete_retention_ms=log.config.delete_retention_ms,
            now_ms=self._now_ms,
            producer_last_offsets=log.producer_last_offsets(),
            without_holes={segment.base_offset for segment in segments if not segment.has_holes},
            aborted=aborted,
        )
        self._host.run_in_worker(self._compacted, compact, self._host.files, request)

    def _compacted(self, report: CompactionReport | None, error: BaseException | None) -> None:
        if report is not None:
            self._report = report
            self._swap_next()
        elif isinstance(error, FileNotFoundError | WorkerDied):
            self._end()  # retention or the deletion of the topic was faster; or it is simply tried again
        else:
            self._end(error=error, is_final=isinstance(error, DamagedSegment))
            if isinstance(error, DamagedSegment):
                for segment in self._log.segments:
                    if segment.base_offset == error.base_offset:
                        self._log.damaged(segment, error.position, error.offset, error.reason)

    def _swap_next(self) -> None:
        """Put the next group in its place, or end if all are."""
        assert self._report is not None
        self._waits = False
        if not self._is_usable():
            self._end()
            self._discard()
        elif self._host.is_busy(self._log):
            self._waits = True
        elif self._swapped < len(self._report.groups):
            self._swap(self._report)
        else:
            self._end(report=self._report)

    def _swap(self, report: CompactionReport) -> None:
        group = report.groups[self._swapped]
        replaced = [segment for segment in self._log.segments if segment.base_offset in group.base_offsets]
        if [segment.base_offset for segment in replaced] != list(group.base_offsets):
            self._host.files.remove(group.path)  # retention took some of them meanwhile
            self._swapped += 1
            self._host.call_soon(self._swap_next)
            return
        try:
            swap = SegmentSwap(self._log, replaced, group.path, group.entry, group.aborted)
        except OSError as error:
            self._end(error=error)
            self._discard()
            return
        self._host.run_for(self._log, lambda error: self._swap_written(swap, error), swap.write)

    def _swap_written(self, swap: SegmentSwap, error: BaseException | None) -> None:
        if not self._host.is_current(self._log):
            self._end()
        elif error is not None:
            self._end(error=error, is_final=swap.is_begun)
            if not swap.is_begun:
                swap.let_go()
            self._discard()
        else:
            swap.finish()
            self._swapped += 1
            self._host.run_for(self._log, lambda _: self._swap_next(), swap.let_go)

    def _is_usable(self) -> bool:
        return self._log.state is LogState.ONLINE and self._host.is_current(self._log)

    def _discard(self) -> None:
        """Remove the output of the groups that are not in place; if the topic is deleted, it goes with the topic."""
        assert self._report is not None
        paths = [group.path for group in self._report.groups[self._swapped :]]
        if self._host.is_current(self._log):
            self._host.run_for(self._log, lambda error: None, remove_outputs, self._host.files, paths)

    def _end(
        self,
        *,
        report: CompactionReport | None = None,
        error: BaseException | None = None,
        is_final: bool = False,
    ) -> None:
        self._on_end(self._log, RunEnd(report, error, is_final))
