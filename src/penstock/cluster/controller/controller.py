"""The controller: every change of topics, mirrors, configs, users and rules, in turn, durable first and then visible.

    commands             the queue that all changes go through, and the thread that makes them durable
    topics, mirrors,     frontends: requests of users and of the pipe, checked and stored
    configs, users, acls
    partition_backend    applies the frontends' decisions to the log engine

Built by the node; handlers, the admin API, the coordinators and the pipe take the frontend that they use.
"""

from __future__ import annotations

from penstock.cluster.controller.acls_frontend import AclsFrontend
from penstock.cluster.controller.commands import Commands
from penstock.cluster.controller.configs_frontend import TOPIC, ConfigsFrontend
from penstock.cluster.controller.mirrors_frontend import MirrorsFrontend
from penstock.cluster.controller.partition_backend import PartitionBackend
from penstock.cluster.controller.tokens_frontend import TokensFrontend
from penstock.cluster.controller.topics_frontend import TopicsFrontend, to_topic
from penstock.cluster.controller.users_frontend import UsersFrontend
from penstock.cluster.topics import TopicTable
from penstock.config.config_layers import ConfigLayers
from penstock.config.settings import Settings
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.authorizer import Authorizer
from penstock.storage.interface import LogEngine
from penstock.storage.metadata.store import MetadataStore


class Controller:
    """The parts of the controller, built in order."""

    def __init__(
        self,
        *,
        store: MetadataStore,
        engine: LogEngine,
        topics: TopicTable,
        settings: Settings,
        authorizer: Authorizer | None = None,
    ) -> None:
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
        self.tokens = TokensFrontend(commands=commands, store=store.tokens)
        self.users = UsersFrontend(
            commands=commands,
            store=store.users,
            iterations=settings.sasl.scram_iterations,
            tokens=self.tokens,
        )
        self.acls = (
            AclsFrontend(commands=commands, store=store.acls, authorizer=authorizer)
            if isinstance(authorizer, StandardAuthorizer)
            else None
        )
        """None on a node whose rules cannot be changed by clients: it has none, or another authorizer."""
        self._store = store

    def load(self) -> None:
        """Fill the tables from the store and declare every partition. Before anything else, without a loop."""
        configs, epochs = self._store.configs.all(), self._store.leader_epochs.all()
        self.configs.load(configs)
        for row in self._store.topics.all():
            explicit = configs.get((TOPIC, row.name), {})
            self.backend.load(to_topic(row, explicit, epochs.get(row.topic_id.bytes)))
        self.users.load()
        self.tokens.load()

    async def close(self) -> None:
        """Let running commands end. No command may be sent any more."""
        await self.commands.close()
