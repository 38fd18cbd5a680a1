"""Where a new subscription begins: an offset for each partition of its topic."""

from __future__ import annotations

from penstock.broker.record_worker import RecordWorker
from penstock.cluster.partition import Partition
from penstock.model.errors import KafkaError
from penstock.protocol.push.values import Start, StartKind


async def starting_offset(partition: Partition, start: Start, worker: RecordWorker) -> int:
    """A time that no message has reached yet means the end."""
    if partition.failed:
        raise KafkaError(partition.failure)
    if start.kind is StartKind.OFFSET:
        return max(0, start.value)
    if start.kind is StartKind.LATEST:
        return partition.last_stable
    if start.kind is StartKind.EARLIEST:
        return partition.log_start
    end, moment = partition.last_stable, start.value
    found = await worker.look_up(lambda scan: partition.log.find_timestamp(moment, end=end, scan=scan))
    return end if found is None else found.offset


def missing_offset(partition: Partition, start: Start) -> int:
    """Where a partition begins that has no position: it is new, or somebody has deleted it."""
    return max(0, start.value) if start.kind is StartKind.OFFSET else partition.log_start
