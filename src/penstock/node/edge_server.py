"""`penstock edge`: the consumer application as a process of its own, until a signal asks it to stop."""

from __future__ import annotations

import logging
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import uvloop

from penstock.config.settings import Settings
from penstock.consumers.errors import ConsumerError
from penstock.edge.application import Application
from penstock.edge.handlers import find_handler
from penstock.edge.settings import EdgeSettings
from penstock.edge.store import Store
from penstock.node.errors import StartError
from penstock.node.security.lone_port import PortAddress, open_lone_port
from penstock.node.signals import asked_to_stop
from penstock.node.web_server import WebServer
from penstock.observability.metrics import BrokerMetrics
from penstock.runtime.files import CALLS
from penstock.storage.data_directory import DataDirectoryError

if TYPE_CHECKING:
    from fastapi import FastAPI

logger = logging.getLogger(__name__)

SWITCH_SECONDS = 0.001
"""How long a thread that makes a page may compute while the event loop waits for the interpreter."""


def serve_edge(settings: EdgeSettings, protection: Settings | None = None) -> int:
    """Serve until a signal; returns the exit code, 0 after SIGTERM or SIGINT. StartError when it cannot start.

    `protection` is what protects the port.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    return uvloop.run(_serve(settings, protection or Settings()))


async def _serve(settings: EdgeSettings, protection: Settings) -> int:
    stop = asked_to_stop()
    async with AsyncExitStack() as stack:
        port = await open_lone_port(
            stack, protection, PortAddress(settings.host, settings.port, settings.allowed_hosts)
        )
        metrics = BrokerMetrics({}, settings.data_dir, CALLS)
        try:
            handler = find_handler(settings.type, settings.topic, settings.group)
            store = Store.open(settings.data_dir, settings.topic, observer=metrics)
        except (ConsumerError, DataDirectoryError) as error:
            raise StartError(str(error)) from error
        application = Application(settings, store, handler, metrics, port)
        stack.push_async_callback(application.stop)

        def build() -> FastAPI:
            from penstock.edge.http.api import edge_app

            return edge_app(store, application, port.access, port.login)

        server = WebServer(port.http, build)
        stack.push_async_callback(server.stop)
        await application.start()
        await server.start()
        logger.info("ready", extra={"http": server.port, "topic": settings.topic, "type": settings.type})
        await stop.wait()
        logger.info("stopping")
    logger.info("stopped")
    return 0
