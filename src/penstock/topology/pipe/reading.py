"""Reader of a parent's logs for one request of a child, and the comparison of their histories.

Any thread: partitions were looked up on the loop. Nothing is decoded; batches are counted by their headers.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.cluster.partition import Partition
from penstock.model.batch import HEADER_BYTES, BatchHeader, Buffer, iter_headers, read_header
from penstock.model.errors import KafkaError
from penstock.topology.pipe.wire import LastBatch, Pulled, Status, Wanted

SEGMENTS_PER_ANSWER = 64


class PullReader:
    """Reads within the limits of one answer; a single larger batch is read if it is the first."""

    def __init__(self, bytes_max: int, batches_max: int) -> None:
        self._bytes_max = bytes_max
        self._batches_max = batches_max

    def read(self, targets: Sequence[tuple[Wanted, Partition | Status]], *, wait: bool) -> list[Pulled]:
        """The answers for all partitions that have news. BlockingIOError as in `Log.read`."""
        found: list[Pulled] = []
        bytes_left, batches_left, first = self._bytes_max, self._batches_max, True
        for wanted, partition in targets:
            if isinstance(partition, Status):
                found.append(_refusal(wanted, partition))
                continue
            pulled = self._pull_one(wanted, partition, bytes_left, batches_left, first=first, wait=wait)
            if pulled is None:
                continue
            found.append(pulled)
            if len(pulled.records):
                first = False
                bytes_left -= len(pulled.records)
                batches_left -= sum(1 for _ in iter_headers(pulled.records))
        return found

    def _pull_one(
        self, wanted: Wanted, partition: Partition, bytes_left: int, batches_left: int, *, first: bool, wait: bool
    ) -> Pulled | None:
        """The answer for one partition; None if there is no news of it."""
        start, end = partition.log_start, partition.high_watermark
        if partition.failed:
            return _refusal(wanted, Status.UNAVAILABLE, partition.failure.name)
        if wanted.offset > end and partition.mirror:
            reason = f"the parent has come to {end}, this node to {wanted.offset}"
            return Pulled(wanted.topic, wanted.partition, Status.BEHIND, start, end, reason=reason)
        try:
            if wanted.offset < start:
                first_base = first_batch_offset(partition, wait=wait)
                if wanted.offset < first_base:
                    return Pulled(wanted.topic, wanted.partition, Status.BELOW_START, first_base, end)
            reason = another_history(wanted, partition, wait=wait)
            if reason:
                return Pulled(wanted.topic, wanted.partition, Status.DIVERGED, start, end, reason=reason)
            records = self._records(wanted, partition, bytes_left, batches_left, first=first, wait=wait)
        except KafkaError as error:
            return _refusal(wanted, Status.UNAVAILABLE, str(error))
        if len(records) or wanted.last is not None or start > wanted.log_start:
            return Pulled(wanted.topic, wanted.partition, Status.OK, start, end, records)
        return None

    def _records(
        self, wanted: Wanted, partition: Partition, bytes_left: int, batches_left: int, *, first: bool, wait: bool
    ) -> Buffer:
        if wanted.offset >= partition.high_watermark or batches_left <= 0 or (bytes_left < HEADER_BYTES and not first):
            return b""
        slices = partition.read_stretch(
            max(wanted.offset, partition.log_start),
            bytes_left,
            one_batch_at_least=first,
            wait=wait,
            end=partition.high_watermark,
            slices_max=SEGMENTS_PER_ANSWER,
        )
        records = slices[0].records if len(slices) == 1 else b"".join(bytes(each.records) for each in slices)
        return first_batches(records, batches_left)


def another_history(wanted: Wanted, partition: Partition, *, wait: bool) -> str:
    """The reason why the child's log cannot be a prefix of this one; empty if it may be. Any thread.

    A leader epoch begins at every start of the root, so records lost in a crash are written again under another one.
    Where the child names its last batch, that is compared, too, unless it was compacted.
    """
    end = partition.high_watermark
    if wanted.offset > end:
        return f"the parent's log ends at {end}, this one at {wanted.offset}"
    if wanted.epoch >= 0:
        epoch_end = partition.epoch_end(wanted.epoch)[1]
        is_empty = end == partition.log_start  # a mirror that starts over there has seen no epoch yet
        if epoch_end < wanted.offset and not (epoch_end < 0 and is_empty):
            return f"epoch {wanted.epoch} ends at {epoch_end} in the parent's log, and not before {wanted.offset} here"
    if wanted.last is None or wanted.offset <= partition.log_start:
        return ""
    found = partition.read(wanted.offset - 1, 1, end=end, one_batch_at_least=True, wait=wait)
    if len(found.records) < HEADER_BYTES:
        return ""
    if differs_from(wanted, read_header(found.records)):
        return f"the batch before offset {wanted.offset} is another one in the parent's log"
    return ""


def differs_from(wanted: Wanted, header: BatchHeader) -> bool:
    """Whether the parent's batch before the wanted offset cannot be the one that the child names.

    Only batches out of which compaction has taken nothing can be compared.
    """
    last = wanted.last
    is_whole = header.record_count == header.last_offset_delta + 1 and not header.has_delete_horizon
    if last is None or not is_whole or last.base_offset + last.record_count != wanted.offset:
        return False
    return (header.base_offset, header.crc, header.record_count) != last


def first_batch_offset(partition: Partition, *, wait: bool) -> int:
    """Base offset of the batch that holds the log start: deleted records may be the first ones of a batch."""
    start = partition.log_start
    found = partition.read(start, 1, one_batch_at_least=True, wait=wait)
    return min(start, found.first_offset) if len(found.records) else start


def last_batch(partition: Partition, *, wait: bool) -> LastBatch | None:
    """The description of the end of a child's own log. Any thread."""
    end = partition.high_watermark
    if end <= partition.log_start:
        return None
    found = partition.read(end - 1, 1, end=end, one_batch_at_least=True, wait=wait)
    if len(found.records) < HEADER_BYTES:
        return None
    header = read_header(found.records)
    return LastBatch(header.base_offset, header.crc, header.record_count)


def first_batches(records: Buffer, count: int) -> Buffer:
    """The first `count` of whole batches."""
    end = 0
    for position, header in iter_headers(records):
        if count == 0:
            return memoryview(records)[:end]
        count -= 1
        end = position + header.size_bytes
    return records


def _refusal(wanted: Wanted, status: Status, reason: str = "") -> Pulled:
    return Pulled(wanted.topic, wanted.partition, status, -1, -1, reason=reason)
