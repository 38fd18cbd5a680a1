"""Where a new subscription begins: an offset for each partition of its topic."""

from __future__ import annotations

import asyncio

from penstock.broker.broker import Broker
from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.core.position import Position
from penstock.broker.records.worker import RecordWorker
from penstock.cluster.partition import Partition
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.values import Start, StartKind


async def commit_starts(broker: Broker, commits: Commits, name: str, topic: Topic, start: Start) -> None:
    """Positions where there are none: what a group of this name has done already stays done."""
    await broker.groups.prepare()
    committed = broker.groups.committed(name).get(topic.name, {})
    positions = {}
    for index in range(topic.partition_count):
        if index not in committed:
            partition = broker.partitions.get(topic.name, index)
            positions[index] = Position(await starting_offset(partition, start, broker.record_worker))
    done: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
    changes = commits.changes(name, topic.name, positions)
    if changes:
        broker.groups.commit_held(name, changes, done.set_result)
        code = await done
        if code is not ErrorCode.NONE:
            raise KafkaError(code, "the position could not be stored")


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
