"""`penstock registry serve`: the registry as a process of its own, until a signal asks it to stop."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from penstock.net.http.allowed_hosts import AllowedHosts
from penstock.net.http.port import HttpPort
from penstock.node.admission import lone_http_door
from penstock.node.errors import StartError
from penstock.node.signals import asked_to_stop
from penstock.node.web_server import WebServer, bind
from penstock.runtime.clock import SystemClock
from penstock.security.access import Access
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


def serve_registry(options: RegistryOptions) -> int:
    """Serve until a signal; returns the exit code, 0 after SIGTERM or SIGINT. StartError when it cannot start."""
    return uvloop.run(_serve(options))


async def _serve(options: RegistryOptions) -> int:
    stop = asked_to_stop()
    async with AsyncExitStack() as stack:
        listening = bind(options.host, options.port, "--port", "--host")
        stack.callback(listening.close)
        service = await open_registry(stack, options)

        def application() -> Starlette:
            from penstock.topology.registry.site import registry_site

            return registry_site(service, Access())

        hosts = AllowedHosts.of(options.host, *options.allowed_hosts, setting="--allowed-host")
        port = HttpPort(listening=listening, admission=await lone_http_door(stack), hosts=hosts)
        server = WebServer(port, application)
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
