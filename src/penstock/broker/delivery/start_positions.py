"""Where a new subscription begins: an offset for each partition of its topic."""

from __future__ import annotations

import asyncio

from penstock.broker.broker import Broker
from penstock.broker.delivery.commits import Commits
from penstock.broker.delivery.core.position import Position
from penstock.broker.records.offset_lookup import offset_or_end
from penstock.broker.records.worker import RecordWorker
from penstock.cluster.partition import OffsetSpec, Partition
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push.values import Start, StartKind

_PLACES = {StartKind.LATEST: OffsetSpec.LATEST, StartKind.EARLIEST: OffsetSpec.EARLIEST}


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
    if start.kind is StartKind.OFFSET:
        if partition.failed:
            raise KafkaError(partition.failure)
        return max(0, start.value)
    return await offset_or_end(partition, _PLACES.get(start.kind, start.value), worker, committed_only=True)


def missing_offset(partition: Partition, start: Start) -> int:
    """Where a partition begins that has no position: it is new, or somebody has deleted it."""
    return max(0, start.value) if start.kind is StartKind.OFFSET else partition.log_start
