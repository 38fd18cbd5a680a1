"""Consumers in the node's process (setting consumers.modules): found before anything is opened, run at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.config.settings import Settings
from penstock.node.errors import StartError
from penstock.observability.metrics import BrokerMetrics

if TYPE_CHECKING:
    from penstock.consumers.definition import Definition
    from penstock.consumers.hosted import HostedConsumers

_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


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
    definitions: Sequence[Definition], settings: Settings, port: int, metrics: BrokerMetrics
) -> HostedConsumers:
    """Start the consumers, which connect to the port that clients use."""
    from penstock.consumers.hosted import HostedConsumers

    host = _EVERY_ADDRESS.get(settings.kafka.host, settings.kafka.host)
    hosted = HostedConsumers(definitions, host=host, port=port)
    metrics.add_probe(hosted.metrics)
    await asyncio.to_thread(hosted.start)
    return hosted
