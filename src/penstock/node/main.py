"""`serve`: run a node until a signal asks it to stop."""

from __future__ import annotations

import asyncio
import logging
import signal

import uvloop

from penstock.config.settings import Settings
from penstock.node.node import Node

log = logging.getLogger(__name__)


def serve(settings: Settings) -> int:
    """The exit code: 0 after SIGTERM or SIGINT. Raises StartError when it cannot start."""
    return uvloop.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    loop = asyncio.get_running_loop()
    asked_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop.set)
    node = Node(settings)
    await node.start()
    try:
        await asked_to_stop.wait()
    finally:
        await node.stop()
    return 0
