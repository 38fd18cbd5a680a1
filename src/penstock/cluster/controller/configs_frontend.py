"""Commands on configs: of topics, brokers, groups and client-metrics subscriptions.

`config_changes` computes the result of a list of operations; here that is made durable and takes effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.cluster.controller.commands import Commands
from penstock.cluster.controller.config_changes import difference
from penstock.cluster.controller.internal_configs import check_internal
from penstock.cluster.controller.partition_backend import PartitionBackend
from penstock.cluster.mirrors import refuse_mirror
from penstock.cluster.topics import Topic, TopicTable
from penstock.config.config_layers import ConfigLayers
from penstock.config.topic_configs import check_together
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import check_topic_name
from penstock.runtime.turns import Turns
from penstock.storage.metadata.store import MetadataStore

ConfigUpdate = Callable[[Mapping[str, str]], dict[str, str]]
"""Function from the explicit configs of a resource to those it shall have; raises KafkaError."""

TOPIC, BROKER, GROUP, CLIENT_METRICS = "topic", "broker", "group", "client-metrics"
"""Scopes of configs in the metadata store."""


class ConfigsFrontend:
    """Single writer of configs. Those of topics are in the topic table, all others here."""

    def __init__(
        self,
        *,
        commands: Commands,
        store: MetadataStore,
        topics: TopicTable,
        backend: PartitionBackend,
        layers: ConfigLayers,
        node_id: int,
    ) -> None:
        self.layers = layers
        self.changes: Counter[str] = Counter()
        """Number of changes of a scope's configs, for parts that cache values derived from them."""
        self._commands = commands
        self._store = store
        self._topics = topics
        self._backend = backend
        self._node_id = node_id
        self._others: dict[tuple[str, str], dict[str, str]] = {}  # of everything but topics

    def load(self, configs: Mapping[tuple[str, str], dict[str, str]]) -> None:
        """Take over the stored configs, by scope and name."""
        self._others = {key: values for key, values in configs.items() if key[0] != TOPIC}
        self._apply_layers()

    def explicit(self, scope: str, name: str) -> Mapping[str, str]:
        """Explicit configs of a broker, group or client-metrics subscription."""
        explicit = self._others.get((scope, name), {})
        return {**self.layers.always_set, **explicit} if (scope, name) == (BROKER, "") else explicit

    def configured(self, scope: str) -> list[str]:
        """Names of a scope that have configs."""
        return sorted(name for (owner, name), values in self._others.items() if owner == scope and values)

    def configured_count(self, scope: str) -> int:
        return sum(owner == scope for owner, _ in self._others)

    async def alter_topic(self, name: str, update: ConfigUpdate, *, validate_only: bool = False) -> None:
        await self._commands.run(self._alter_topic(name, update, validate_only))

    async def alter(self, scope: str, name: str, update: ConfigUpdate, *, validate_only: bool = False) -> None:
        """Change the configs of anything but a topic."""
        await self._commands.run(self._alter(scope, name, update, validate_only))

    async def set_topic(self, topic: Topic, configs: dict[str, str]) -> Topic:
        """Store, obey and show the configs of a topic; for use inside a command."""
        changes = difference(topic.configs, configs)
        if not changes:
            return topic
        await self._commands.durably(self._store.configs.change, TOPIC, topic.name, changes)
        changed = replace(topic, configs=configs, encodings={})
        await self._backend.configure(changed, Turns())
        self._topics.put(changed)
        return changed

    async def _alter_topic(self, name: str, update: ConfigUpdate, validate_only: bool) -> None:
        check_topic_name(name)
        topic = self._topics.get(name)
        if topic is None:
            message = f"The topic '{name}' does not exist."
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        refuse_mirror(topic, self._topics.parent)
        configs = update(topic.configs)
        check_together(configs, self.layers.effective)
        if topic.internal:
            check_internal(name, configs)
        if not validate_only:
            await self.set_topic(topic, configs)

    async def _alter(self, scope: str, name: str, update: ConfigUpdate, validate_only: bool) -> None:
        before = self.explicit(scope, name)
        configs = update(before)
        changes = difference(before, configs)
        if validate_only or not changes:
            return
        await self._commands.durably(self._store.configs.change, scope, name, changes)
        if configs:
            self._others[scope, name] = configs
        else:
            self._others.pop((scope, name), None)
        self.changes[scope] += 1
        if scope == BROKER:
            self._apply_layers()
            await self._backend.configure_all()

    def _apply_layers(self) -> None:
        self.layers.set_dynamic(default=True, configs=self.explicit(BROKER, ""))
        self.layers.set_dynamic(default=False, configs=self.explicit(BROKER, str(self._node_id)))
