"""A consumer that reads committed records only, as Kafka's clients do: from slices and lists of aborted transactions.

It also has transactional batches and markers for tests that write without a coordinator.
"""

from __future__ import annotations

from penstock.model.batch import Buffer, check_batch, iter_headers
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker, parse_marker
from penstock.model.record import Record
from penstock.model.records import batch_records
from penstock.storage.interface import AbortedTransaction, Appended, Log

NOW = 1_700_000_000_000


def put_in_transaction(
    log: Log, producer_id: int, sequence: int, *values: bytes, epoch: int = 0, key: bytes | None = b"k"
) -> Appended:
    batch = build_batch(
        [NewRecord(key, value) for value in values],
        timestamp=NOW,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    return log.append(batch, check_batch(batch), NOW)


def end_transaction(
    log: Log, producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0, now_ms: int = NOW
) -> Appended:
    return log.append_marker(Marker(producer_id, epoch, coordinator_epoch, commit), now_ms)


def committed_in(slice_: Buffer, aborted: list[AbortedTransaction]) -> list[Record]:
    """The records of one answer that a client shows."""
    waiting = sorted(aborted, key=lambda one: one.first_offset)
    hidden: set[int] = set()
    shown: list[Record] = []
    for position, header in iter_headers(slice_):
        while waiting and waiting[0].first_offset <= header.last_offset:
            hidden.add(waiting.pop(0).producer_id)
        if header.is_control:
            marker = parse_marker(memoryview(slice_)[position : position + header.size_bytes], header)
            if marker is not None and not marker.is_commit:
                hidden.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in hidden):
            shown += batch_records(slice_, header, position)
    return shown


def read_committed(
    log: Log, offset: int | None = None, *, max_bytes: int = 1 << 20, end: int | None = None
) -> list[Record]:
    """Every committed record from `offset` (the start) to `end` (the last stable offset), fetch by fetch."""
    offset = log.log_start if offset is None else offset
    end = log.stable_end(log.flushed) if end is None else end
    shown: list[Record] = []
    while True:
        found = log.read(offset, max_bytes, end=end, one_batch_at_least=True, wait=True)
        if not found.records:
            return shown
        aborted = log.aborted_transactions(offset, found.next_offset, wait=True)
        shown += [record for record in committed_in(found.records, aborted) if record.offset >= offset]
        offset = found.next_offset
