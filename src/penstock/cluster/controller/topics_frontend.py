"""Commands on topics: create, delete, add partitions. The rules are in `new_topic`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

from penstock.cluster.controller.commands import Commands
from penstock.cluster.controller.internal_configs import INTERNAL_CONFIGS
from penstock.cluster.controller.new_topic import CheckedTopic, NewTopic, TopicChecks
from penstock.cluster.controller.partition_backend import PartitionBackend
from penstock.cluster.mirrors import read_only, refuse_mirror
from penstock.cluster.topics import Topic, TopicTable
from penstock.config.config_layers import ConfigLayers
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, TopicId
from penstock.model.topic_name import CONSUMER_OFFSETS, INTERNAL_NAMES, TRANSACTION_STATE
from penstock.runtime.turns import Turns
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.metadata.topics import TopicRow

Admit = Callable[[int], None]
"""Called with the number of partitions about to be created or deleted; raises KafkaError if the client may not."""


class TopicsFrontend:
    """Single writer of topics."""

    def __init__(
        self,
        *,
        commands: Commands,
        store: MetadataStore,
        topics: TopicTable,
        backend: PartitionBackend,
        layers: ConfigLayers,
        settings: Settings,
    ) -> None:
        self._commands = commands
        self._store = store
        self._topics = topics
        self._backend = backend
        self._layers = layers
        self._settings = settings

    def checks(self) -> TopicChecks:
        """The rules for one command: topics that pass count for those after them."""
        return TopicChecks(topics=self._topics, layers=self._layers, settings=self._settings)

    async def create(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool = False, admit: Admit | None = None
    ) -> list[Topic | KafkaError]:
        """One result per topic, in order; those that can be made are made together."""
        return await self._commands.run(self._create(new_topics, validate_only, admit))

    async def auto_create(self, name: str) -> Topic:
        """The topic that a client asked for by name, made with defaults where that is needed and allowed."""
        topic = self._topics.get(name)
        if topic is not None:
            return topic
        if name in INTERNAL_NAMES:
            return await self.ensure_internal(name)
        (result,) = await self.create([NewTopic(name=name)])
        if isinstance(result, Topic):
            return result
        existing = self._topics.get(name)
        if existing is None:
            raise result
        return existing  # another request was faster

    async def ensure_internal(self, name: str) -> Topic:
        """One of the broker's own topics, made at its first use."""
        assert name in INTERNAL_NAMES
        topic = self._topics.get(name)
        return topic if topic is not None else await self._commands.run(self._create_internal(name))

    async def delete(self, topic_ids: Sequence[TopicId], *, admit: Admit | None = None) -> list[Topic | KafkaError]:
        """One result per id, in order. Requests that wait in a deleted topic are answered."""
        return await self._commands.run(self._delete(topic_ids, admit))

    async def create_partitions(
        self,
        name: str,
        count: int,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        validate_only: bool = False,
        admit: Admit | None = None,
    ) -> Topic:
        return await self._commands.run(self._create_partitions(name, count, assignments, validate_only, admit))

    async def _create(
        self, new_topics: Sequence[NewTopic], validate_only: bool, admit: Admit | None
    ) -> list[Topic | KafkaError]:
        checks = self.checks()
        results: list[Topic | KafkaError] = []
        rows: list[tuple[TopicRow, Mapping[str, str]]] = []
        turns = Turns()
        for new in new_topics:
            await turns.pause()
            try:
                checked = checks.check(new)
                if admit is not None:
                    admit(checked.partition_count)
            except KafkaError as error:
                results.append(error.kept())
                continue
            rows.append((new_row(checked), checked.configs))
            results.append(to_topic(*rows[-1]))
        if rows and not validate_only:
            try:
                await self._commands.durably(self._store.topics.create, rows)
            except KafkaError as error:
                return [error.kept() if isinstance(result, Topic) else result for result in results]
            for result in results:
                if isinstance(result, Topic):
                    await self._backend.show(result, turns)
        return results

    async def _create_internal(self, name: str) -> Topic:
        existing = self._topics.get(name)
        if existing is not None:
            return existing
        counts = {
            CONSUMER_OFFSETS: self._settings.groups.offsets_topic_partitions,
            TRANSACTION_STATE: self._settings.transactions.topic_partitions,
        }
        configs = INTERNAL_CONFIGS[name]
        checked = CheckedTopic(name=name, partition_count=counts[name], replication_factor=1, configs=configs)
        row = new_row(checked, internal=True)
        await self._commands.durably(self._store.topics.create, [(row, checked.configs)])
        topic = to_topic(row, checked.configs)
        await self._backend.show(topic, Turns())
        return topic

    async def _delete(self, topic_ids: Sequence[TopicId], admit: Admit | None) -> list[Topic | KafkaError]:
        results: list[Topic | KafkaError] = []
        turns = Turns()
        for topic_id in topic_ids:
            topic = self._topics.get_by_id(topic_id)
            if topic is None:
                results.append(KafkaError(ErrorCode.UNKNOWN_TOPIC_ID))
            elif topic.internal:
                message = f"Deletion of internal topic {topic.name} is prohibited."
                results.append(KafkaError(ErrorCode.INVALID_REQUEST, message))
            elif topic.mirror:
                results.append(read_only(topic.name, self._topics.parent))
            else:
                results.append(await self._delete_one(topic, turns, admit))
        return results

    async def _delete_one(self, topic: Topic, turns: Turns, admit: Admit | None) -> Topic | KafkaError:
        try:
            if admit is not None:
                admit(topic.partition_count)
            await self._commands.durably(self._store.topics.delete, topic.topic_id)
        except KafkaError as error:
            return error.kept()
        await self._backend.remove(topic, turns)
        return topic

    async def _create_partitions(
        self,
        name: str,
        count: int,
        assignments: Sequence[Sequence[int]] | None,
        validate_only: bool,
        admit: Admit | None,
    ) -> Topic:
        topic = self._topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        refuse_mirror(topic, self._topics.parent)
        self.checks().check_growth(topic, count, assignments)
        if admit is not None:
            admit(count - topic.partition_count)
        grown = topic.grown(count)
        if not validate_only:
            epoch = grown.leader_epochs[-1]
            await self._commands.durably(self._store.topics.set_partitions, topic.topic_id, count, epoch)
            await self._backend.show(grown, Turns(), first=topic.partition_count)
        return grown


def new_row(checked: CheckedTopic, *, internal: bool = False) -> TopicRow:
    return TopicRow(
        name=checked.name,
        topic_id=uuid.uuid4(),
        partitions=checked.partition_count,
        internal=internal,
        replication_factor=checked.replication_factor,
    )


def to_topic(row: TopicRow, configs: Mapping[str, str], leader_epochs: Sequence[int] | None = None) -> Topic:
    """The value that is shown for a stored topic. Without epochs it is new, or a mirror."""
    if leader_epochs is None:
        leader_epochs = (NO_EPOCH if row.mirror else 0,) * row.partitions
    return Topic(
        name=row.name,
        topic_id=row.topic_id,
        partition_count=row.partitions,
        configs=dict(configs),
        internal=row.internal,
        leader_epochs=tuple(leader_epochs),
        mirror=row.mirror,
        diverged=row.diverged,
    )
