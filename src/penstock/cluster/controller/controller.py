"""The controller: every change of topics, mirrors and configs, one at a time, durable first and then visible.

    commands             the queue that all changes go through, and the thread that makes them durable
    topics, mirrors,     frontends: requests of users and of the pipe, checked and stored
    configs
    partition_backend    applies the frontends' decisions to the log engine

Built by the node; handlers, the admin API, the coordinators and the pipe take the frontend that they use.
"""

from __future__ import annotations

from penstock.cluster.controller.commands import Commands
from penstock.cluster.controller.configs_frontend import TOPIC, ConfigsFrontend
from penstock.cluster.controller.mirrors_frontend import MirrorsFrontend
from penstock.cluster.controller.partition_backend import PartitionBackend
from penstock.cluster.controller.topics_frontend import TopicsFrontend, to_topic
from penstock.cluster.topics import TopicTable
from penstock.config.config_layers import ConfigLayers
from penstock.config.settings import Settings
from penstock.storage.interface import LogEngine
from penstock.storage.metadata.store import MetadataStore


class Controller:
    """The parts of the controller, built in order."""

    def __init__(self, *, store: MetadataStore, engine: LogEngine, topics: TopicTable, settings: Settings) -> None:
        layers = ConfigLayers(settings.topics.defaults)
        commands = self.commands = Commands(store.boot)
        backend = self.backend = PartitionBackend(engine=engine, topics=topics, layers=layers)
        self.topics = TopicsFrontend(
            commands=commands, store=store, topics=topics, backend=backend, layers=layers, settings=settings
        )
        self.configs = ConfigsFrontend(
            commands=commands, store=store, topics=topics, backend=backend, layers=layers, node_id=settings.node.id
        )
        self.mirrors = MirrorsFrontend(
            commands=commands,
            store=store,
            topics=topics,
            backend=backend,
            topics_frontend=self.topics,
            configs=self.configs,
        )
        self._store = store

    def load(self) -> None:
        """Fill the tables from the store and declare every partition. Before anything else, without a loop."""
        configs, epochs = self._store.configs.all(), self._store.leader_epochs.all()
        self.configs.load(configs)
        for row in self._store.topics.all():
            explicit = configs.get((TOPIC, row.name), {})
            self.backend.load(to_topic(row, explicit, epochs.get(row.topic_id.bytes)))

    async def close(self) -> None:
        """Let running commands end. No command may be sent any more."""
        await self.commands.close()
