"""Look-up of an offset by time, or of a marked place of a partition, for all doors.

LATEST and EARLIEST are answered at once. A search may wait for the disk and decode batches: it
runs in the look-up threads of the record worker.
"""

from __future__ import annotations

from penstock.broker.records.worker import RecordWorker
from penstock.cluster.partition import OffsetSpec, Partition
from penstock.model.errors import KafkaError
from penstock.storage.interface import TimestampOffset


async def find_offset(
    partition: Partition, wanted: OffsetSpec | int, worker: RecordWorker, *, committed_only: bool, owner: str
) -> TimestampOffset | None:
    """The marked place, or the first record with at least the timestamp `wanted`, at an isolation level.

    `owner` is who asks. None if there is none. KafkaError if the partition fails, or its log cannot be read.
    """
    if partition.failed:
        raise KafkaError(partition.failure)
    end = partition.visible_end(committed_only=committed_only)
    if wanted is OffsetSpec.LATEST or wanted is OffsetSpec.EARLIEST:
        return partition.find_offset(wanted, end=end)
    return await worker.look_up(lambda scan: partition.find_offset(wanted, end=end, scan=scan), owner)


async def offset_or_end(
    partition: Partition, wanted: OffsetSpec | int, worker: RecordWorker, *, committed_only: bool, owner: str
) -> int:
    """The same as an offset to begin at: a time that no record has reached yet means the end."""
    end = partition.visible_end(committed_only=committed_only)
    found = await find_offset(partition, wanted, worker, committed_only=committed_only, owner=owner)
    return end if found is None else found.offset
