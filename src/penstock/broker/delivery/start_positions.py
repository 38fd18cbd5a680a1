"""Start positions of subscriptions: an offset for each partition of the topic."""

from __future__ import annotations

from penstock.broker.delivery.commits import PORTION, Commits
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.progress.position import Position
from penstock.broker.records.offset_lookup import offset_or_end
from penstock.broker.records.worker import RecordWorker
from penstock.cluster.partition import OffsetSpec, Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic
from penstock.model.errors import KafkaError
from penstock.protocol.push.values import Start, StartKind
from penstock.runtime.turns import Turns

_PLACES = {StartKind.LATEST: OffsetSpec.LATEST, StartKind.EARLIEST: OffsetSpec.EARLIEST}


class StartPositions:
    """Stores the positions of new subscriptions."""

    def __init__(
        self, groups: GroupCoordinator, partitions: PartitionTable, worker: RecordWorker, commits: Commits
    ) -> None:
        self._groups = groups
        self._partitions = partitions
        self._worker = worker
        self._commits = commits

    async def commit(self, name: str, topic: Topic, start: Start, owner: str) -> None:
        """Store positions where there are none: everything that a group of this name has done stays done.

        In portions, after each of which they count: all positions of a wide topic do not fit into one batch. `owner` is
        who asks, and takes turns with others where a time has to be looked up.
        """
        await self._groups.prepare()
        committed = self._groups.committed(name).get(topic.name, {})
        positions, turns = dict[int, Position](), Turns()
        for index in range(topic.partition_count):
            if index not in committed:
                partition = self._partitions.get(topic.name, index)
                positions[index] = Position(await starting_offset(partition, start, self._worker, owner))
                await turns.pause()
        wanted = list(positions.items())
        for first in range(0, len(wanted), PORTION):
            await self._commits.store(name, topic.name, dict(wanted[first : first + PORTION]))


async def starting_offset(partition: Partition, start: Start, worker: RecordWorker, owner: str) -> int:
    """The offset of a start; for a time after the last message, the end of the log."""
    if start.kind is StartKind.OFFSET:
        if partition.failed:
            raise KafkaError(partition.failure)
        return max(0, start.value)
    return await offset_or_end(
        partition, _PLACES.get(start.kind, start.value), worker, committed_only=True, owner=owner
    )


def missing_offset(partition: Partition, start: Start) -> int:
    """The start offset of a partition without a position: it is new, or its position was deleted."""
    return max(0, start.value) if start.kind is StartKind.OFFSET else partition.log_start
