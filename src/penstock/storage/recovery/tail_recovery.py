"""Recovering long tails between finding a data directory and serving from it.

After a clean stop there is nothing to do. Otherwise one syncfs, which makes everything that the dead process
left in the page cache durable (so that no recovered tail has to be synced by itself), and logs with a long tail above
their recovery point are brought into order by the worker process, each ending with a new recovery point; a second
syncfs makes those durable. What remains for the first use of a log is short enough to be done on the event loop.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from penstock.model.ids import PartitionId
from penstock.runtime.files import Files
from penstock.runtime.worker import Worker
from penstock.storage import layout
from penstock.storage.admission.epochs import EpochEntry
from penstock.storage.checkpoint.checkpoint import write_missing_indexes, write_whole
from penstock.storage.checkpoint.snapshot import encode_snapshot, newest_snapshot
from penstock.storage.log.recovered_log import RecoveredLog
from penstock.storage.recovery.recovery import recover

# Batches of 100 bytes are checked at 30 MB/s, so this is at most 2 ms on the event loop, and far less as a rule.
INLINE_SCAN_BYTES = 64 * 1024


class TailRequest(NamedTuple):
    """All that is needed to recover one log, here or in the worker process."""

    directory: Path
    log_start: int
    now_ms: int
    epochs: Sequence[EpochEntry]
    compacted: bool
    index_interval_bytes: int

    def recover(self, files: Files) -> RecoveredLog:
        """Recover, on a file system that was synced since the previous process ended."""
        return recover(
            files,
            self.directory,
            log_start=self.log_start,
            now_ms=self.now_ms,
            epochs=self.epochs,
            compacted=self.compacted,
            index_interval_bytes=self.index_interval_bytes,
            tail_is_synced=True,
        )


class TailReport(NamedTuple):
    """The outcome. `recovered` is kept only for a damaged log; for others the new recovery point says it all."""

    seconds: float
    scanned_bytes: int
    cut_bytes: int
    notes: Sequence[str]
    recovered: RecoveredLog | None


TailAnswer = tuple[PartitionId, TailReport | None, BaseException | None]


def tail_bytes(files: Files, directory: Path) -> int:
    """How many bytes lie above the newest recovery point or in an unfinished swap; 0 if there is no such log."""
    try:
        names = files.list_names(directory)
    except FileNotFoundError:
        return 0
    sizes = {
        base: files.file_size(directory / name)
        for name in names
        if (base := layout.offset_of(name, layout.LOG)) is not None
    }
    swaps = sum(files.file_size(directory / name) for name in names if name.endswith(layout.SWAP))
    total = sum(sizes.values()) + swaps
    if total <= INLINE_SCAN_BYTES or layout.FLUSH_FAILED in names:
        return total  # short, or to be rewritten as a whole
    snapshot, is_newest = newest_snapshot(files, directory, names)
    if snapshot is None or not is_newest:
        return total
    active = snapshot.segments[-1]
    above = sum(size for base, size in sizes.items() if base >= active.base_offset)
    return max(0, above - active.size) + swaps


def recover_tail(files: Files, request: TailRequest) -> TailReport:
    """Worker process. Recover one log and leave a recovery point at its end, which the caller syncs."""
    started = time.perf_counter()
    recovered = request.recover(files)
    damaged = recovered.damage is not None
    if recovered.segments and not damaged:
        snapshot = encode_snapshot(
            recovered.log_end,
            [segment.entry() for segment in recovered.segments],
            recovered.epochs.entries,
            recovered.producers.encode(),
        )
        write_missing_indexes(files, request.directory, recovered.segments, request.index_interval_bytes)
        write_whole(files, layout.snapshot_path(request.directory, recovered.log_end), snapshot)
    return TailReport(
        time.perf_counter() - started,
        recovered.scanned_bytes,
        recovered.cut_bytes,
        recovered.notes,
        recovered if damaged else None,
    )


def recover_tails(worker: Worker, files: Files, requests: Mapping[PartitionId, TailRequest]) -> Iterator[TailAnswer]:
    """Have the worker recover all of these; waits for each."""
    answers: SimpleQueue[TailAnswer] = SimpleQueue()
    for partition, request in requests.items():

        def answer(report: TailReport | None, error: BaseException | None, partition: PartitionId = partition) -> None:
            answers.put((partition, report, error))

        worker.submit(answer, recover_tail, files, request)
    for _ in requests:
        yield answers.get()
