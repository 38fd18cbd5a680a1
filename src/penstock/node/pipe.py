"""The pipe of a node: the server for its children, the client of its parent, and the status of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.node.errors import StartError
from penstock.observability.health import Health
from penstock.runtime.plugins import UnknownImplementation, load_implementation
from penstock.topology.model import TopologySource
from penstock.topology.pipe.interface import Connect
from penstock.topology.pipe.pipe import Pipe
from penstock.topology.pipe.server import PipeServer
from penstock.topology.pipe.server_routes import pipe_routes
from penstock.topology.pipe.status import connect_pipe

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

CONNECTORS = {
    "http": "penstock.topology.pipe.http_connector:HttpPipeConnector",
    "kafka": "penstock.topology.pipe.kafka_connector:KafkaPipeConnector",
}


class PipePart:
    """StartError for an unknown `pipe.type`, or a parent's URL that it cannot use."""

    def __init__(self, broker: Broker, health: Health, topology: TopologySource | None = None) -> None:
        settings = broker.settings.pipe
        self._access = broker.access
        try:
            connect: Connect = load_implementation("penstock.pipe", settings.type, CONNECTORS, "pipe.type")
            if settings.parent_url is not None:
                connect(settings.parent_url, settings)
        except (UnknownImplementation, ValueError) as error:
            raise StartError(str(error)) from error
        self.server = PipeServer(broker)
        self.pipe = Pipe(broker, connect, topology)
        connect_pipe(self.pipe, self.server, broker.metrics, health)

    def refresh(self, subscriptions: Subscriptions) -> None:
        """Have the subscriptions of a mirror refreshed after it was reset."""

        async def refresh_all(topics: Sequence[str]) -> None:
            for row in tuple(subscriptions.all()):
                if row.topic in topics:
                    await subscriptions.reset(row.name)

        self.pipe.refreshes.listeners.append(refresh_all)

    def routes(self) -> Callable[[], Iterable[BaseRoute]]:
        return pipe_routes(self.server, self.pipe, self._access)

    def start(self) -> None:
        self.pipe.start()

    async def stop(self) -> None:
        self.server.close()
        await self.pipe.stop()
