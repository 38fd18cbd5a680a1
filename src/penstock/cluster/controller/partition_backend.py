"""The topic table applied to the log engine: partitions declared, configured and removed.

The frontends decide and make durable; nothing is refused here.
"""

from __future__ import annotations

import logging

from penstock.cluster.controller.log_configs import to_log_config
from penstock.cluster.topics import Topic, TopicTable
from penstock.config.config_layers import ConfigLayers
from penstock.model.ids import PartitionId, TopicId
from penstock.runtime.turns import Turns
from penstock.storage.interface import LogConfig, LogEngine

logger = logging.getLogger(__name__)


class PartitionBackend:
    """The partitions of topics at the log engine."""

    def __init__(self, *, engine: LogEngine, topics: TopicTable, layers: ConfigLayers) -> None:
        self._engine = engine
        self._topics = topics
        self._layers = layers

    def log_config(self, topic: Topic) -> LogConfig:
        return to_log_config(topic.configs, self._layers.effective)

    def load(self, topic: Topic) -> None:
        """Declare the partitions of a topic at the start and show it."""
        config = self.log_config(topic)
        for index in range(topic.partition_count):
            self._declare(topic, index, config)
        self._topics.put(topic)

    async def show(self, topic: Topic, turns: Turns, *, first: int = 0) -> None:
        """Declare the partitions from `first` on, then show the topic."""
        config = self.log_config(topic)
        for index in range(first, topic.partition_count):
            self._declare(topic, index, config)
            await turns.pause()
        self._topics.put(topic)

    async def configure(self, topic: Topic, turns: Turns) -> None:
        """Give the logs of a topic the configs that are in force now."""
        config = self.log_config(topic)
        for index in range(topic.partition_count):
            self._engine.configure(PartitionId(topic.topic_id, index), config)
            await turns.pause()

    async def configure_all(self) -> None:
        """The same for every topic, after a change of defaults."""
        turns = Turns()
        for topic in tuple(self._topics.all()):
            await self.configure(topic, turns)

    async def remove(self, topic: Topic, turns: Turns) -> None:
        """Hide a topic whose deletion is durable, and remove its logs."""
        self._topics.remove(topic.topic_id)
        for index in range(topic.partition_count):
            try:
                self._engine.remove(PartitionId(topic.topic_id, index))
            except OSError as error:
                # The next start finds the files without an owner and removes them.
                logger.warning("files of a deleted topic stay", extra={"topic": topic.name, "error": str(error)})
            await turns.pause()

    def remove_logs(self, topic: Topic) -> None:
        """Remove the logs of a topic that is hidden already and was never used."""
        for index in range(topic.partition_count):
            self._engine.remove(PartitionId(topic.topic_id, index))

    def is_leaving(self, topic_id: TopicId) -> bool:
        """Whether files of a deleted topic of this id are still there."""
        return self._engine.is_leaving(topic_id)

    def is_unused(self, topic: Topic) -> bool:
        """Whether nothing was ever written to a topic. False if that is not known."""
        partitions = (PartitionId(topic.topic_id, index) for index in range(topic.partition_count))
        try:
            return not any(self._engine.log(partition).log_end for partition in partitions)
        except OSError:
            return False

    def _declare(self, topic: Topic, index: int, config: LogConfig) -> None:
        self._engine.declare(topic.name, PartitionId(topic.topic_id, index), config, topic.leader_epochs[index])
