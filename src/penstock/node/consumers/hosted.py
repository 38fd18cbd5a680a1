"""Consumers in the node's process (setting consumers.modules): found before anything is opened, run at the end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock.broker.push.server import PushDoor
from penstock.config.settings import Settings
from penstock.node.errors import StartError
from penstock.observability.metrics import BrokerMetrics
from penstock.security.principal import Principal

if TYPE_CHECKING:
    from penstock.consumers.definition import Definition
    from penstock.consumers.hosted import HostedConsumers


async def find_consumers(settings: Settings) -> list[Definition]:
    """StartError for a module that cannot be run. The framework is loaded only if there is one."""
    if not settings.consumers.modules:
        return []
    if not settings.push.enabled:
        raise StartError("consumers.modules: consumers come in through the push door; set push.enabled to true")
    from penstock.consumers.discovery import discover
    from penstock.consumers.errors import ConsumerError

    try:
        return await asyncio.to_thread(discover, settings.consumers.modules)
    except ConsumerError as error:
        raise StartError(f"consumers.modules: {error}") from error


async def start_consumers(
    definitions: Sequence[Definition], settings: Settings, push: PushDoor, metrics: BrokerMetrics
) -> HostedConsumers:
    """Start the consumers, which act as the principal of the settings."""
    from penstock.consumers.hosted import HostedConsumers

    hosted = HostedConsumers(definitions, _dialler(push, settings.consumers.principal))
    metrics.add_probe(hosted.metrics)
    await asyncio.to_thread(hosted.start)
    return hosted


def _dialler(push: PushDoor, principal: str) -> Callable[[], socket.socket]:
    """Makes pairs of sockets and gives one end to the push door, on the loop that is running now."""
    loop = asyncio.get_running_loop()
    kind, _, name = principal.partition(":")

    def dial() -> socket.socket:
        ours, theirs = socket.socketpair()
        for each in (ours, theirs):
            each.setblocking(False)
        loop.call_soon_threadsafe(push.take_inside, theirs, Principal(kind, name))
        return ours

    return dial
