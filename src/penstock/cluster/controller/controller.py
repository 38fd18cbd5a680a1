"""The commands that change metadata: topics, partitions and configs. Durable first, then visible.

Commands run one after the other, whoever sends them: of two that create the same topic one wins and the other finds
it there. The store is written in a thread of its own, everything else happens on the event loop. A command that has
begun is finished even if its client goes away, so that what is durable is always what is visible.

The handlers of the Kafka APIs translate; what is allowed is decided in `new_topic` and `config_changes`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from penstock.cluster.controller.config_changes import difference
from penstock.cluster.controller.log_configs import to_log_config
from penstock.cluster.controller.new_topic import CheckedTopic, NewTopic, TopicChecks
from penstock.cluster.mirrors import NewMirror, read_only, refuse_mirror
from penstock.cluster.topics import Topic, TopicTable
from penstock.config.config_layers import ConfigLayers
from penstock.config.settings import Settings
from penstock.config.topic_configs import check_together
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, PartitionId, TopicId
from penstock.model.topic_name import CONSUMER_OFFSETS, INTERNAL_NAMES, TRANSACTION_STATE, check_topic_name
from penstock.runtime.turns import Turns
from penstock.storage.interface import LogConfig, LogEngine
from penstock.storage.metadata.store import MetadataStore, TopicRow

log = logging.getLogger(__name__)

T = TypeVar("T")
ConfigUpdate = Callable[[Mapping[str, str]], dict[str, str]]
"""From the explicit configs of a resource to those it shall have; raises KafkaError."""
Admit = Callable[[int], None]
"""Told how many partitions are about to be created or deleted; raises KafkaError if their client may not."""

TOPIC, BROKER, GROUP, CLIENT_METRICS = "topic", "broker", "group", "client-metrics"
"""Scopes of configs in the metadata store."""

_CHANGES_PER_START = 1_000_000  # room in the numbering of metadata changes, so that it rises at a start
_COMPACTED = {"cleanup.policy": "compact", "segment.bytes": "104857600"}
_INTERNAL_CONFIGS = {
    CONSUMER_OFFSETS: {**_COMPACTED, "compression.type": "producer"},
    TRANSACTION_STATE: {**_COMPACTED, "compression.type": "uncompressed"},
}


class Controller:
    """Single writer of the topic table, the config layers and the metadata store's topics and configs."""

    def __init__(self, *, store: MetadataStore, engine: LogEngine, topics: TopicTable, settings: Settings) -> None:
        self.layers = ConfigLayers(settings.topics.defaults)
        self._store = store
        self._engine = engine
        self._topics = topics
        self._settings = settings
        self._configs: dict[tuple[str, str], dict[str, str]] = {}  # of everything but topics
        self.config_changes: Counter[str] = Counter()
        """How often the configs of a scope have changed, for whoever keeps something derived from them."""
        self._lock = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata")
        self.log_end = store.boot * _CHANGES_PER_START + 1
        """What stands for the end of the metadata's log: rises with every durable change and every start."""

    @property
    def epoch(self) -> int:
        """What stands for the controller's epoch: rises at every start."""
        return self._store.boot

    def load(self) -> None:
        """Fill the tables from the store and declare every partition. Before anything else, without a loop."""
        configs = self._store.all_configs()
        self._configs = {key: values for key, values in configs.items() if key[0] != TOPIC}
        self._apply_layers()
        for row in self._store.topics():
            topic = _topic(row, configs.get((TOPIC, row.name), {}))
            config = self.log_config(topic)
            for index in range(topic.partition_count):
                self._declare(topic, index, config)
            self._topics.put(topic)

    async def close(self) -> None:
        """Let running commands end; none may be sent any more."""
        if self._running:
            await asyncio.wait(self._running)
        self._executor.shutdown()

    def log_config(self, topic: Topic) -> LogConfig:
        return to_log_config(topic.configs, self.layers.effective)

    def configs(self, scope: str, name: str) -> Mapping[str, str]:
        """Explicit configs of a broker, group or client-metrics subscription."""
        explicit = self._configs.get((scope, name), {})
        return {**self.layers.always_set, **explicit} if (scope, name) == (BROKER, "") else explicit

    def configured(self, scope: str) -> list[str]:
        """Names of a scope that have configs."""
        return sorted(name for (owner, name), values in self._configs.items() if owner == scope and values)

    # -------------------------------------------------------------------------------------------- topics

    async def create_topics(
        self, new_topics: Sequence[NewTopic], *, validate_only: bool = False, admit: Admit | None = None
    ) -> list[Topic | KafkaError]:
        """One result per topic, in order; those that can be made are made together."""
        return await self._command(self._create_topics(new_topics, validate_only, admit))

    async def auto_create(self, name: str) -> Topic:
        """The topic a client asked for by name, made with defaults if need be and allowed."""
        topic = self._topics.get(name)
        if topic is not None:
            return topic
        if name in INTERNAL_NAMES:
            return await self.ensure_internal_topic(name)
        (result,) = await self.create_topics([NewTopic(name=name)])
        if isinstance(result, Topic):
            return result
        existing = self._topics.get(name)
        if existing is None:
            raise result
        return existing  # another request was faster

    async def ensure_internal_topic(self, name: str) -> Topic:
        """One of the broker's own topics, made at its first use."""
        assert name in INTERNAL_NAMES
        topic = self._topics.get(name)
        return topic if topic is not None else await self._command(self._create_internal(name))

    async def delete_topics(
        self, topic_ids: Sequence[TopicId], *, admit: Admit | None = None
    ) -> list[Topic | KafkaError]:
        """One result per id, in order. Requests that wait in a deleted topic are woken."""
        return await self._command(self._delete_topics(topic_ids, admit))

    async def create_partitions(
        self,
        name: str,
        count: int,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        validate_only: bool = False,
        admit: Admit | None = None,
    ) -> Topic:
        return await self._command(self._create_partitions(name, count, assignments, validate_only, admit))

    # ------------------------------------------------------------------------------------------- mirrors

    async def put_mirror(self, new: NewMirror) -> Topic:
        """Make a mirror, or bring it to the partitions and configs that its original has now."""
        return await self._command(self._put_mirror(new))

    async def drop_mirror(self, topic: Topic) -> None:
        """KafkaError if it cannot be deleted."""
        await self._command(self._drop_mirror(topic))

    async def set_diverged(self, topic: Topic, reason: str) -> None:
        await self._command(self._set_diverged(topic, reason))

    # ------------------------------------------------------------------------------------------- configs

    async def alter_topic_configs(self, name: str, update: ConfigUpdate, *, validate_only: bool = False) -> None:
        await self._command(self._alter_topic(name, update, validate_only))

    async def alter_configs(self, scope: str, name: str, update: ConfigUpdate, *, validate_only: bool = False) -> None:
        """For everything but topics."""
        await self._command(self._alter_other(scope, name, update, validate_only))

    async def change_store(self, change: Callable[[], None], *, then: Callable[[], None]) -> None:
        """A change of the store whose meaning others know, in turn with the commands; `then` makes it visible."""
        await self._command(self._change_store(change, then))

    # ----------------------------------------------------------------------------------------- internals

    async def _change_store(self, change: Callable[[], None], then: Callable[[], None]) -> None:
        await self._durably(change)
        then()

    async def _command(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(self._in_turn(coroutine))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _in_turn(self, coroutine: Awaitable[T]) -> T:
        async with self._lock:
            return await coroutine

    async def _durably(self, function: Callable[..., None], *args: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)
        self.log_end += 1

    def _checks(self) -> TopicChecks:
        return TopicChecks(topics=self._topics, layers=self.layers, settings=self._settings)

    async def _create_topics(
        self, new_topics: Sequence[NewTopic], validate_only: bool, admit: Admit | None
    ) -> list[Topic | KafkaError]:
        checks = self._checks()
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
                results.append(error)
                continue
            rows.append((self._row(checked, internal=False), checked.configs))
            results.append(_topic(*rows[-1]))
        if rows and not validate_only:
            try:
                await self._durably(self._store.create_topics, rows)
            except KafkaError as error:
                return [error if isinstance(result, Topic) else result for result in results]
            for result in results:
                if isinstance(result, Topic):
                    await self._publish(result, turns)
        return results

    async def _create_internal(self, name: str) -> Topic:
        existing = self._topics.get(name)
        if existing is not None:
            return existing
        settings = self._settings
        counts = {
            CONSUMER_OFFSETS: settings.groups.offsets_topic_partitions,
            TRANSACTION_STATE: settings.transactions.topic_partitions,
        }
        configs = _INTERNAL_CONFIGS[name]
        checked = CheckedTopic(name=name, partition_count=counts[name], replication_factor=1, configs=configs)
        row = self._row(checked, internal=True)
        await self._durably(self._store.create_topics, [(row, checked.configs)])
        topic = _topic(row, checked.configs)
        await self._publish(topic, Turns())
        return topic

    async def _put_mirror(self, new: NewMirror) -> Topic:
        topic = self._topics.get(new.name)
        configs = new.known_configs()
        if topic is None:
            return await self._create_mirror(new, configs)
        if not topic.mirror and await self._remove_unused(topic):
            return await self._create_mirror(new, configs)
        if not topic.mirror or topic.topic_id != new.topic_id:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"there is another topic {new.name} here")
        before = topic
        if new.partition_count > topic.partition_count:
            self._checks().check_growth(topic, new.partition_count, None)
            await self._durably(self._store.set_partitions, topic.topic_id, new.partition_count)
            topic = replace(topic, partition_count=new.partition_count, encodings={})
            await self._publish(topic, Turns(), first=before.partition_count)
        return await self._set_topic_configs(topic, configs)

    async def _remove_unused(self, topic: Topic) -> bool:
        """Make way for a mirror: a client that asked too early has made an empty topic of its name. False if it is not.

        It is invisible before it is deleted, so that nobody can write to it in between.
        """
        places = [PartitionId(topic.topic_id, index) for index in range(topic.partition_count)]
        try:
            if topic.internal or any(self._engine.log(place).log_end for place in places):
                return False
        except OSError:
            return False
        self._topics.remove(topic.topic_id)
        try:
            await self._durably(self._store.delete_topic, topic.topic_id)
        except KafkaError:
            self._topics.put(topic)
            raise
        for place in places:
            self._engine.remove(place)
        return True

    async def _create_mirror(self, new: NewMirror, configs: dict[str, str]) -> Topic:
        if self._engine.is_leaving(new.topic_id):
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"the files of the former {new.name} are being removed")
        wanted = NewTopic(name=new.name, partition_count=new.partition_count, configs=list(configs.items()))
        checked = self._checks().check(wanted)
        row = self._row(checked, internal=False)._replace(topic_id=new.topic_id, mirror=True)
        await self._durably(self._store.create_topics, [(row, checked.configs)])
        topic = _topic(row, checked.configs)
        await self._publish(topic, Turns())
        return topic

    async def _drop_mirror(self, topic: Topic) -> None:
        if self._topics.get_by_id(topic.topic_id) is None:
            return
        result = await self._delete_topic(topic, Turns(), None)
        if isinstance(result, KafkaError):
            raise result

    async def _set_diverged(self, topic: Topic, reason: str) -> None:
        current = self._topics.get_by_id(topic.topic_id)
        if current is not None and current.diverged != reason:
            await self._durably(self._store.set_diverged, topic.topic_id, reason)
            self._topics.put(replace(current, diverged=reason, encodings={}))

    def _row(self, checked: CheckedTopic, *, internal: bool) -> TopicRow:
        return TopicRow(
            name=checked.name,
            topic_id=uuid.uuid4(),
            partitions=checked.partition_count,
            first_boot=self._store.boot,
            internal=internal,
            replication_factor=checked.replication_factor,
        )

    async def _publish(self, topic: Topic, turns: Turns, first: int = 0) -> None:
        """Declare the partitions from `first` on and show the topic."""
        config = self.log_config(topic)
        for index in range(first, topic.partition_count):
            self._declare(topic, index, config)
            await turns.pause()
        self._topics.put(topic)

    def _declare(self, topic: Topic, index: int, config: LogConfig) -> None:
        leader_epoch = NO_EPOCH if topic.mirror else self._store.boot - topic.first_boot
        self._engine.declare(topic.name, PartitionId(topic.topic_id, index), config, leader_epoch)

    async def _delete_topics(self, topic_ids: Sequence[TopicId], admit: Admit | None) -> list[Topic | KafkaError]:
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
                results.append(read_only(topic.name))
            else:
                results.append(await self._delete_topic(topic, turns, admit))
        return results

    async def _delete_topic(self, topic: Topic, turns: Turns, admit: Admit | None) -> Topic | KafkaError:
        try:
            if admit is not None:
                admit(topic.partition_count)
            await self._durably(self._store.delete_topic, topic.topic_id)
        except KafkaError as error:
            return error
        self._topics.remove(topic.topic_id)
        for index in range(topic.partition_count):
            try:
                self._engine.remove(PartitionId(topic.topic_id, index))
            except OSError as error:
                # The topic is gone for good; the next start finds its files without an owner and removes them.
                log.warning("files of a deleted topic stay", extra={"topic": topic.name, "error": str(error)})
            await turns.pause()
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
        refuse_mirror(topic)
        self._checks().check_growth(topic, count, assignments)
        if admit is not None:
            admit(count - topic.partition_count)
        grown = replace(topic, partition_count=count, encodings={})
        if not validate_only:
            await self._durably(self._store.set_partitions, topic.topic_id, count)
            await self._publish(grown, Turns(), first=topic.partition_count)
        return grown

    async def _alter_topic(self, name: str, update: ConfigUpdate, validate_only: bool) -> None:
        check_topic_name(name)
        topic = self._topics.get(name)
        if topic is None:
            message = f"The topic '{name}' does not exist."
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        refuse_mirror(topic)
        configs = update(topic.configs)
        check_together(configs, self.layers.effective)
        if not validate_only:
            await self._set_topic_configs(topic, configs)

    async def _set_topic_configs(self, topic: Topic, configs: dict[str, str]) -> Topic:
        changes = difference(topic.configs, configs)
        if not changes:
            return topic
        await self._durably(self._store.set_configs, TOPIC, topic.name, changes)
        changed = replace(topic, configs=configs, encodings={})
        await self._configure(changed, Turns())
        self._topics.put(changed)
        return changed

    async def _alter_other(self, scope: str, name: str, update: ConfigUpdate, validate_only: bool) -> None:
        before = self.configs(scope, name)
        configs = update(before)
        changes = difference(before, configs)
        if validate_only or not changes:
            return
        await self._durably(self._store.set_configs, scope, name, changes)
        self._configs[scope, name] = configs
        self.config_changes[scope] += 1
        if scope == BROKER:
            self._apply_layers()
            turns = Turns()
            for topic in tuple(self._topics.all()):
                await self._configure(topic, turns)

    def _apply_layers(self) -> None:
        self.layers.set_dynamic(default=True, configs=self.configs(BROKER, ""))
        self.layers.set_dynamic(default=False, configs=self.configs(BROKER, str(self._settings.node.id)))

    async def _configure(self, topic: Topic, turns: Turns) -> None:
        config = self.log_config(topic)
        for index in range(topic.partition_count):
            self._engine.configure(PartitionId(topic.topic_id, index), config)
            await turns.pause()


def _topic(row: TopicRow, configs: Mapping[str, str]) -> Topic:
    return Topic(
        name=row.name,
        topic_id=row.topic_id,
        partition_count=row.partitions,
        configs=dict(configs),
        internal=row.internal,
        first_boot=row.first_boot,
        mirror=row.mirror,
        diverged=row.diverged,
    )
