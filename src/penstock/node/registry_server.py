"""`penstock registry serve`: the registry as a process of its own, until a signal asks it to stop."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from penstock.config.settings import Settings
from penstock.node.errors import StartError
from penstock.node.security.lone_port import PortAddress, open_lone_port
from penstock.node.signals import asked_to_stop
from penstock.node.web_server import WebServer
from penstock.runtime.clock import SystemClock
from penstock.storage.data_directory import DataDirectoryError
from penstock.topology.registry.service import RegistryService
from penstock.topology.registry.store import RegistryStore

if TYPE_CHECKING:
    from starlette.applications import Starlette

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    data_dir: Path
    host: str
    port: int
    missed_polls: int
    nodes_max: int
    allowed_hosts: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)
    """What protects the port."""

    @property
    def address(self) -> PortAddress:
        return PortAddress(self.host, self.port, self.allowed_hosts)


def serve_registry(options: RegistryOptions) -> int:
    """Serve until a signal; returns the exit code, 0 after SIGTERM or SIGINT. StartError when it cannot start."""
    return uvloop.run(_serve(options))


async def _serve(options: RegistryOptions) -> int:
    stop = asked_to_stop()
    async with AsyncExitStack() as stack:
        port = await open_lone_port(stack, options.settings, options.address)
        service = await open_registry(stack, options)

        def application() -> Starlette:
            from penstock.topology.registry.site import registry_site

            return registry_site(service, port.access, port.login, warnings=port.problems, probes=[port])

        server = WebServer(port.http, application)
        stack.push_async_callback(server.stop)
        await server.start()
        logger.info("ready", extra={"registry": server.port, "nodes": len(service.hierarchy.members)})
        await stop.wait()
        logger.info("stopping")
    logger.info("stopped")
    return 0


async def open_registry(stack: AsyncExitStack, options: RegistryOptions) -> RegistryService:
    """The running registry, with its directory locked, until the stack is closed."""
    try:
        store = RegistryStore(options.data_dir)
    except DataDirectoryError as error:
        raise StartError(str(error)) from error
    stack.callback(store.close)
    service = RegistryService(store, SystemClock(), missed_polls=options.missed_polls, nodes_max=options.nodes_max)
    service.start()
    stack.push_async_callback(service.stop)
    return service
