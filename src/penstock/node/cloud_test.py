"""`penstock registry serve --cloud-test`: a registry and a root broker with five prices, on one HTTP port.

A trial of a local broker and a consumer without a cloud. Nothing in it is a mock: the root is
a node like any other, which registers with the registry beside it over HTTP, and whose children pull from it. The
prices are produced over its Kafka port, once: a restart with the same directory finds them there.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import uvloop

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.idempotent import IdempotentProducer
from penstock.client.offsets import bounds
from penstock.client.topics import ensure_topic
from penstock.config.settings import (
    HttpSettings,
    KafkaSettings,
    NodeSettings,
    PushSettings,
    RegistrySettings,
    SecuritySettings,
    Settings,
)
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.role import Role
from penstock.model.topic_partition import TopicPartition
from penstock.net.endpoint import is_every_address
from penstock.node.admission import with_descriptors
from penstock.node.errors import SettingsError
from penstock.node.node import Node
from penstock.node.registry_server import RegistryOptions, open_registry
from penstock.node.signals import asked_to_stop
from penstock.node.topology import http_url
from penstock.runtime.clock import SystemClock
from penstock.topology.registry.probe import RegistryProbe

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

logger = logging.getLogger(__name__)

NODE_ID = "cloud-root"
TOPIC = "price-topic"
PRICES = {"AAPL": 227.5, "GOOGL": 181.2, "MSFT": 431.8, "TSLA": 342.1, "AMZN": 204.6}


def serve_cloud_test(options: RegistryOptions, advertised_url: str | None = None) -> int:
    """Serve until a signal; returns the exit code, 0 after SIGTERM or SIGINT. StartError when it cannot start."""
    return uvloop.run(_serve(options, advertised_url))


async def _serve(options: RegistryOptions, advertised_url: str | None) -> int:
    stop = asked_to_stop()
    async with AsyncExitStack() as stack:
        service = await open_registry(stack, options)

        def routes() -> Iterable[BaseRoute]:
            from starlette.routing import Mount

            from penstock.topology.registry.api import PREFIX, registry_app

            return [Mount(PREFIX, registry_app(service, node.access))]

        node = Node(with_descriptors(root_settings(options, advertised_url)), parts=[routes])
        node.metrics.add_probe(RegistryProbe(service))
        await node.start()
        stack.push_async_callback(node.stop)
        await asyncio.to_thread(store_prices, Address("127.0.0.1", node.kafka_port))
        logger.info("cloud test server", extra={"registry": own_url(options), "topic": TOPIC})
        await stop.wait()
    return 0


def root_settings(options: RegistryOptions, advertised_url: str | None) -> Settings:
    """A node that leaves the ports of the broker under test alone, and finds its registry on its own HTTP port."""
    given = options.settings
    if given.security.protocol != "PLAINTEXT" or given.acl.enabled:
        raise SettingsError("the cloud test server is a trial, without TLS, logins and rules; leave out --cloud-test")
    return Settings(
        node=NodeSettings(name=NODE_ID, data_dir=options.data_dir / "root"),
        kafka=KafkaSettings(port=0),
        push=PushSettings(enabled=False),
        http=HttpSettings(host=options.host, port=options.port, allowed_hosts=options.allowed_hosts),
        security=SecuritySettings(insecure=given.security.insecure),
        registry=RegistrySettings(url=own_url(options), role=Role.ROOT, advertised_url=advertised_url),
    )


def own_url(options: RegistryOptions) -> str:
    return http_url("localhost" if is_every_address(options.host) else options.host, options.port)


def store_prices(address: Address) -> None:
    """Produce five messages in one batch: all or none, and only into an empty topic."""
    place = TopicPartition(TOPIC, 0)
    with Cluster([address]) as cluster:
        ensure_topic(cluster, TOPIC, partitions=1)
        if bounds(cluster, [place], committed=False)[place].end > 0:
            return
        now_ms = SystemClock().now_ms()
        records = [
            NewRecord(symbol.encode(), json.dumps({"symbol": symbol, "price": price}).encode())
            for symbol, price in PRICES.items()
        ]
        producer = IdempotentProducer(cluster)
        producer.send(place, build_batch(records, timestamp=now_ms))
        producer.flush()
    logger.info("prices stored", extra={"topic": TOPIC, "messages": len(PRICES)})
