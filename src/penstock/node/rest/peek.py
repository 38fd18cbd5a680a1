"""A few messages of a partition: found by offset or time, read and decoded away from the event loop, with bounds.

Runs in the threads of look-ups; large and compressed batches are decoded by the record worker.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.cluster.partition import Partition
from penstock.model.aborted_filter import AbortedFilter, has_transactions
from penstock.model.batch import iter_headers
from penstock.model.record import Record
from penstock.model.records import records_from
from penstock.storage.interface import Scan

READ_BYTES: Final = 256 * 1024
READS_MAX: Final = 40
"""Number of reads for one request. Where they find nothing, the answer says where to go on."""
ANSWER_BYTES_MAX: Final = 512 * 1024


class Wanted(NamedTuple):
    """A request: `offset` lies in the log. Reading stops at `end`; `committed_only` leaves out aborted transactions."""

    offset: int
    most: int
    end: int
    committed_only: bool


class Peeked(NamedTuple):
    records: list[Record]
    next_offset: int


def peek(partition: Partition, wanted: Wanted, scan: Scan) -> Peeked:
    """Read messages, in a thread. KafkaError as of `Log.read`; CORRUPT_MESSAGE for records that cannot be decoded."""
    records: list[Record] = []
    position, left_bytes = wanted.offset, ANSWER_BYTES_MAX
    for _ in range(READS_MAX):
        if position >= wanted.end:
            break
        read = partition.read(position, READ_BYTES, end=wanted.end, one_batch_at_least=True, wait=True)
        content = bytes(read.records)
        if not content:
            break
        aborted = AbortedFilter(())
        if wanted.committed_only and has_transactions(content):
            found = partition.aborted_transactions(read.first_offset, read.next_offset, wait=True)
            aborted = AbortedFilter(found)
        for place, header in iter_headers(content):
            if aborted.leaves_out(header):
                continue
            batch = memoryview(content)[place : place + header.size_bytes]
            count = wanted.most - len(records)
            some = scan(records_from, batch, header, position, count, left_bytes)
            records += some
            left_bytes -= sum(map(size_of, some))
            if len(records) >= wanted.most or left_bytes <= 0:
                return Peeked(records, records[-1].offset + 1)
        position = read.next_offset
    return Peeked(records, position)


def size_of(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
