"""The shards of one kind of coordinator: one for each partition of its internal topic, and their life.

While a shard is being loaded requests for its keys are answered COORDINATOR_LOAD_IN_PROGRESS, and if it has failed
COORDINATOR_NOT_AVAILABLE (a KafkaError in both cases). The topic is made when it is first needed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from typing import Generic, TypeVar

from penstock.broker.coordination.coordinator_log import CoordinatorLog, CoordinatorState
from penstock.broker.coordination.placement import partition_of
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicChange, TopicTable
from penstock.model.errors import ErrorCode, KafkaError

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=CoordinatorLog)
Background = Callable[[], Coroutine[None, None, None]]


class CoordinatorShards(Generic[S]):
    """The shards of `topic`, each made by `make`. `all` has None where a log could not even be opened."""

    def __init__(
        self,
        topic: str,
        partitions: PartitionTable,
        topics: TopicTable,
        controller: Controller,
        make: Callable[[Partition], S],
    ) -> None:
        self._topic = topic
        self._partitions = partitions
        self._topics = topics
        self._controller = controller
        self._make = make
        self._running = False
        self._loading: asyncio.Task[None] | None = None
        self._maintaining: asyncio.Task[None] | None = None
        self.all: list[S | None] = []

    # --- life --------------------------------------------------------------------------------------------------------

    def start(self, name: str, load: Background, maintain: Background) -> None:
        """Begin to serve. `load` and `maintain` go on in the background, as tasks with this name."""
        self._running = True
        self._topics.subscribe(self._topic_changed)
        topic = self._topics.get(self._topic)
        if topic is not None:
            self._open(topic)
        self._loading = asyncio.create_task(load(), name=f"{name}: load")
        self._maintaining = asyncio.create_task(maintain(), name=f"{name}: maintenance")

    async def loaded(self) -> None:
        """Wait until what was in the logs at the start is loaded."""
        if self._loading is not None:
            await asyncio.shield(self._loading)

    async def stop(self) -> None:
        """Serve no more. The shards stay as they are."""
        self._running = False
        self._topics.unsubscribe(self._topic_changed)
        tasks = [task for task in (self._loading, self._maintaining) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _topic_changed(self, change: TopicChange) -> None:
        if change.created is not None and change.created.name == self._topic and not self.all:
            self._open(change.created)

    def _open(self, topic: Topic) -> None:
        for index in range(topic.partition_count):
            try:
                partition = self._partitions.get(topic.name, index)
            except KafkaError as error:
                logger.error("%s-%d cannot be opened: %r", topic.name, index, error)
                self.all.append(None)
                continue
            shard = self._make(partition)
            if partition.high_watermark == partition.log_start and not partition.failed:
                shard.state = CoordinatorState.ACTIVE
            self.all.append(shard)

    # --- finding -----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[S]:
        """The shards that can be asked."""
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
        """False while a shard is loading or has failed: a key that is not found may still exist."""
        return all(shard is not None and shard.state is CoordinatorState.ACTIVE for shard in self.all)

    async def prepare(self) -> None:
        """Make sure that the topic exists. Raises KafkaError if it cannot be made."""
        if not self.all and self._running:
            await self._controller.topics.ensure_internal(self._topic)

    def place(self, key: str) -> S | None:
        """The shard of a group or transactional id, whatever its state."""
        return self.all[partition_of(key, len(self.all))]

    def holder(self, key: str) -> S | None:
        """The same for a request: KafkaError while the shard cannot serve; None as long as there is no topic."""
        if not self._running:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not self.all:
            return None
        shard = self.place(key)
        if shard is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        shard.check()
        return shard
