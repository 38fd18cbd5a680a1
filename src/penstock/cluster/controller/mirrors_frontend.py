"""Commands on mirrors, sent by the pipe alone: a mirror follows the topic of the parent."""

from __future__ import annotations

from dataclasses import replace

from penstock.cluster.controller.commands import Commands
from penstock.cluster.controller.configs_frontend import ConfigsFrontend
from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.controller.partition_backend import PartitionBackend
from penstock.cluster.controller.topics_frontend import TopicsFrontend, new_row, to_topic
from penstock.cluster.mirrors import NewMirror
from penstock.cluster.topics import Topic, TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Turns
from penstock.storage.metadata.store import MetadataStore


class MirrorsFrontend:
    """Single writer of mirrors."""

    def __init__(
        self,
        *,
        commands: Commands,
        store: MetadataStore,
        topics: TopicTable,
        backend: PartitionBackend,
        topics_frontend: TopicsFrontend,
        configs: ConfigsFrontend,
    ) -> None:
        self._commands = commands
        self._store = store
        self._topics = topics
        self._backend = backend
        self._topics_frontend = topics_frontend
        self._configs = configs

    async def put(self, new: NewMirror) -> Topic:
        """Make a mirror, or bring it to the partitions and configs that its original has now."""
        return await self._commands.run(self._put(new))

    async def drop(self, topic: Topic) -> None:
        """Delete a mirror; KafkaError if that cannot be done."""
        await self._commands.run(self._drop(topic))

    async def set_diverged(self, topic: Topic, reason: str) -> None:
        """Store the reason why a mirror cannot follow its original any more."""
        await self._commands.run(self._set_diverged(topic, reason))

    async def _put(self, new: NewMirror) -> Topic:
        topic = self._topics.get(new.name)
        configs = new.known_configs()
        if topic is None:
            return await self._create(new, configs)
        if not topic.mirror and await self._remove_unused(topic):
            return await self._create(new, configs)
        if not topic.mirror or topic.topic_id != new.topic_id:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"there is another topic {new.name} here")
        before = topic
        if new.partition_count > topic.partition_count:
            self._topics_frontend.checks().check_growth(topic, new.partition_count, None)
            topic = topic.grown(new.partition_count)
            count, epoch = topic.partition_count, topic.leader_epochs[-1]
            await self._commands.durably(self._store.topics.set_partitions, topic.topic_id, count, epoch)
            await self._backend.show(topic, Turns(), first=before.partition_count)
        return await self._configs.set_topic(topic, configs)

    async def _remove_unused(self, topic: Topic) -> bool:
        """Make way for a mirror where a client that asked too early has made an empty topic of its name.

        False if the topic is in use. It is hidden before it is deleted, so that nothing can be written in between.
        """
        if topic.internal or not self._backend.is_unused(topic):
            return False
        self._topics.remove(topic.topic_id)
        try:
            await self._commands.durably(self._store.topics.delete, topic.topic_id)
        except KafkaError:
            self._topics.put(topic)
            raise
        self._backend.remove_logs(topic)
        return True

    async def _create(self, new: NewMirror, configs: dict[str, str]) -> Topic:
        if self._backend.is_leaving(new.topic_id):
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"the files of the former {new.name} are being removed")
        wanted = NewTopic(name=new.name, partition_count=new.partition_count, configs=list(configs.items()))
        checked = self._topics_frontend.checks().check(wanted)
        row = new_row(checked)._replace(topic_id=new.topic_id, mirror=True)
        await self._commands.durably(self._store.topics.create, [(row, checked.configs)])
        topic = to_topic(row, checked.configs)
        await self._backend.show(topic, Turns())
        return topic

    async def _drop(self, topic: Topic) -> None:
        if self._topics.get_by_id(topic.topic_id) is None:
            return
        await self._commands.durably(self._store.topics.delete, topic.topic_id)
        await self._backend.remove(topic, Turns())

    async def _set_diverged(self, topic: Topic, reason: str) -> None:
        current = self._topics.get_by_id(topic.topic_id)
        if current is not None and current.diverged != reason:
            await self._commands.durably(self._store.topics.set_diverged, topic.topic_id, reason)
            self._topics.put(replace(current, diverged=reason, encodings={}))
