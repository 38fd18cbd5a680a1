"""The pipe of a node: the server for its children, the client of its parent, and the status of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.config.settings import PipeSettings
from penstock.node.errors import StartError
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from penstock.runtime.plugins import UnknownImplementation, load_implementation
from penstock.security.access import Access
from penstock.topology.model import TopologySource
from penstock.topology.pipe.interface import Connect
from penstock.topology.pipe.mirror_backend import MirrorBackend
from penstock.topology.pipe.pipe import Pipe
from penstock.topology.pipe.refreshes import OnReset, Refreshes
from penstock.topology.pipe.server import PipeServer
from penstock.topology.pipe.server_routes import pipe_routes
from penstock.topology.pipe.status import connect_pipe

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

HTTP = "http"
CONNECTORS = {
    HTTP: "penstock.topology.pipe.http_connector:HttpPipeConnector",
    "kafka": "penstock.topology.pipe.kafka_connector:KafkaPipeConnector",
}


def build_pipe(broker: Broker, topology: TopologySource | None, on_reset: Sequence[OnReset]) -> PipePart:
    """Both sides of the pipe; `on_reset` is called with mirrors that were reset and are complete again.

    StartError for an unknown `pipe.type`, or a parent's URL that it cannot use.
    """
    settings, topics, partitions = broker.settings.pipe, broker.topics, broker.partitions
    connect = _connector(settings, broker.settings.registry.url)
    server = PipeServer(
        settings=broker.settings,
        cluster_id=broker.cluster_id,
        topics=topics,
        partitions=partitions,
        access=broker.access,
        flow=broker.flow,
        epoch=broker.controller.commands.epoch,
    )
    backend = MirrorBackend(settings, topics, partitions, broker.controller.mirrors, broker.clock)
    refreshes = Refreshes(broker.controller.configs, on_reset)
    pipe = Pipe(settings, connect, backend, refreshes, broker.clock, topology)
    return PipePart(server, pipe, broker.access)


def _connector(settings: PipeSettings, registry_url: str | None) -> Connect:
    try:
        connect: Connect = load_implementation("penstock.pipe", settings.type, CONNECTORS, "pipe.type")
        if settings.parent_url is not None:
            connect(settings.parent_url, settings)  # refuses a URL that it cannot use
    except (UnknownImplementation, ValueError) as error:
        raise StartError(str(error)) from error
    if settings.type == HTTP and settings.parent_url is None and registry_url is not None:
        from penstock.topology.pipe.http_connector import HttpPipeConnector

        return partial(HttpPipeConnector, registry_url=registry_url)
    return connect


class PipePart:
    """The pipe as a part of the node, between `start` and `stop`."""

    def __init__(self, server: PipeServer, pipe: Pipe, access: Access) -> None:
        self.server = server
        self.pipe = pipe
        self._access = access

    def connect_probes(self, metrics: BrokerMetrics, health: Health) -> None:
        connect_pipe(self.pipe, self.server, metrics, health)

    def routes(self) -> Callable[[], Iterable[BaseRoute]]:
        return pipe_routes(self.server, self.pipe, self._access)

    def start(self) -> None:
        self.pipe.start()

    async def stop(self) -> None:
        self.server.close()
        await self.pipe.stop()
