"""The shards of one kind of coordinator: a partition of its internal topic each, and who lives in which.

While a shard is being loaded those in it are answered COORDINATOR_LOAD_IN_PROGRESS; if it has failed,
COORDINATOR_NOT_AVAILABLE (a KafkaError in both cases). The topic is made when it is first needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from penstock.broker.coordination.coordinator_log import CoordinatorLog, CoordinatorState
from penstock.broker.coordination.placement import partition_of
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)

S = TypeVar("S", bound=CoordinatorLog)


class CoordinatorShards(Generic[S]):
    """`all` has None where a log could not even be opened."""

    def __init__(
        self, topic: str, partitions: PartitionTable, controller: Controller, make: Callable[[Partition], S]
    ) -> None:
        self._topic = topic
        self._partitions = partitions
        self._controller = controller
        self._make = make
        self.all: list[S | None] = []
        self.running = False

    def __iter__(self) -> Iterator[S]:
        """Those that can be asked."""
        return (shard for shard in self.present() if shard.state is CoordinatorState.ACTIVE)

    def present(self) -> Iterator[S]:
        return (shard for shard in tuple(self.all) if shard is not None)

    def loading(self) -> Iterator[S]:
        return (shard for shard in self.present() if shard.state is CoordinatorState.LOADING)

    @property
    def is_loading(self) -> bool:
        return any(True for _ in self.loading())

    @property
    def all_are_active(self) -> bool:
        """False while one is loading or has failed: what is not found may still exist."""
        return all(shard is not None and shard.state is CoordinatorState.ACTIVE for shard in self.all)

    def open(self, topic: Topic) -> None:
        for index in range(topic.partition_count):
            try:
                partition = self._partitions.get(topic.name, index)
            except KafkaError as error:
                log.error("%s-%d cannot be opened: %r", topic.name, index, error)
                self.all.append(None)
                continue
            shard = self._make(partition)
            if partition.high_watermark == partition.log_start and not partition.failed:
                shard.state = CoordinatorState.ACTIVE
            self.all.append(shard)

    def created(self, topic: Topic | None) -> None:
        """A topic was made, perhaps ours."""
        if topic is not None and topic.name == self._topic and not self.all:
            self.open(topic)

    async def prepare(self) -> None:
        """Make sure that the topic exists. Raises KafkaError if it cannot be made."""
        if not self.all and self.running:
            await self._controller.topics.ensure_internal(self._topic)

    def place(self, key: str) -> S | None:
        """Where a group or transactional id lives, whatever state that is in."""
        return self.all[partition_of(key, len(self.all))]

    def holder(self, key: str) -> S | None:
        """The same, to be asked: KafkaError while it cannot be; None as long as there is no topic."""
        if not self.running:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not self.all:
            return None
        shard = self.place(key)
        if shard is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        shard.check()
        return shard
