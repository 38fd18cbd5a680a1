"""A node: every part built in order, and torn down in reverse.

Built:  ports taken → storage (directory, lock, metadata, log engine) → access (authenticator, authorizer) →
        broker (topics, partitions, coordinators) → push door → pipe → HTTP routes
Opened: logs recovered → flush rounds → groups and transactions → Kafka door → push door → HTTP door →
        registry, if there is one → pipe, if there is a parent → consumers, if there are some → ready
Down:   not ready → no new connections or requests → waiting requests answered → groups → logs flushed, clean marker

Each part that has to be closed is put on a stack when it is there; so the parts are closed in the opposite order, also
if the start fails half-way.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.push.server import PushDoor
from penstock.broker.records.worker import RecordWorker
from penstock.config.settings import MEMORY, Settings
from penstock.net.interface import NetworkServer
from penstock.net.listener import Listener
from penstock.net.outbox import Outbox
from penstock.node.broker import build_broker
from penstock.node.consumers import find_consumers, start_consumers
from penstock.node.garbage import GarbageSearch
from penstock.node.http import HttpServer
from penstock.node.kafka_door import open_kafka_door, take_kafka_port
from penstock.node.pipe import PipePart, build_pipe
from penstock.node.preload import Preloader
from penstock.node.probes import (
    connect_request_probes,
    connect_storage_probes,
    connect_telemetry_probes,
    connect_topic_probes,
    connect_transaction_probes,
    log_samples,
)
from penstock.node.push_door import PushHttp, build_push_door, connect_push_probes, take_push_port
from penstock.node.rest.part import admin_api
from penstock.node.storage import Storage, open_storage
from penstock.node.test_endpoints.part import wanted_endpoints
from penstock.node.web_server import bind as bind_http
from penstock.observability.health import Health, Phase
from penstock.observability.metrics import BrokerMetrics
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.recognition import is_push
from penstock.runtime.clock import SystemClock
from penstock.runtime.files import CALLS
from penstock.security.access import Access
from penstock.storage.metadata.store import MetadataStore

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from penstock.topology.client import TopologyClient

logger = logging.getLogger(__name__)

LONG_RECOVERY_SECONDS = 2.0


def allow_all(_: MetadataStore) -> Access:
    """The gate of a node without security: every client is ANONYMOUS and may do everything."""
    return Access()


class Node:
    """One broker. `start` raises StartError with a message for the user.

    `parts` are routes that its HTTP port serves besides its own. `build_access` is called once meta.db is open, so that
    an authorizer can have its rules there.
    """

    def __init__(
        self,
        settings: Settings,
        parts: Iterable[Callable[[], Iterable[BaseRoute]]] = (),
        *,
        build_access: Callable[[MetadataStore], Access] = allow_all,
    ) -> None:
        self.settings = settings
        self._parts = tuple(parts)
        self._build_access = build_access
        self.health = Health()
        self.metrics = BrokerMetrics({api.key: api.name for api in APIS.values()}, settings.node.data_dir, CALLS)
        self._closing = AsyncExitStack()
        """Closes what is open, the last first."""
        self.topology: TopologyClient | None = None
        """The link to the registry; None without a hierarchy."""
        self._listener: Listener | None = None
        self._http: HttpServer | None = None
        self._push: PushDoor | None = None
        self.access: Access
        """The gate of all doors, once the node starts: authentication, and the rights of a session."""
        self.pipe: PipePart
        """The pipe, once the node starts."""

    @property
    def push_port(self) -> int:
        assert self._push is not None
        return self._push.port

    @property
    def http_port(self) -> int:
        assert self._http is not None
        return self._http.port

    @property
    def kafka_port(self) -> int:
        assert self._listener is not None
        return self._listener.port

    async def start(self) -> None:
        try:
            await self._start()
        except BaseException:
            await self._closing.aclose()
            raise
        self.health.phase = Phase.RUNNING
        logger.info("ready", extra={"node": self.settings.node.label, "kafka": self.kafka_port})

    async def stop(self) -> None:
        """Answer requests under way, flush, write the clean marker."""
        logger.info("stopping")
        self.health.phase = Phase.STOPPING
        await self._closing.aclose()
        logger.info("stopped")

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        consumers = await find_consumers(self.settings)
        kafka_server, push_socket, http_socket = self._take_ports()
        storage = open_storage(self.settings, self.metrics)
        self._closing.push_async_callback(storage.close)
        self.access = self._build_access(storage.metadata)
        broker = self._broker(storage)
        self._watch_loop(loop)
        self._connect_probes(broker)
        self._join_hierarchy(http_socket)
        outbox = Outbox(loop.call_soon)
        push = self._push = self._push_door(broker, storage, outbox)
        self.pipe = build_pipe(broker, self.topology, [] if push is None else [push.subscriptions.reset_topics])
        self.pipe.connect_probes(self.metrics, self.health)
        self._http = self._http_server(broker, http_socket, push)

        await self._recover(storage)
        after_round = outbox.send if push is None else push.subscriptions.end_round
        storage.start(broker.partitions.on_flushed, loop, after_round=after_round)
        self._listener = await open_kafka_door(broker, kafka_server, outbox, self._closing)
        logger.info("listening", extra={"host": self.settings.kafka.host, "port": self.kafka_port})
        if push is not None and push_socket is not None:
            await self._open_push_door(push, push_socket)
        await self._open_http_door()
        self._follow_registry()
        self.pipe.start()
        self._closing.push_async_callback(self.pipe.stop)
        preloader = Preloader()
        preloader.start()
        self._closing.callback(preloader.stop)
        if consumers:
            hosted = await start_consumers(consumers, self.settings, self.kafka_port, self.metrics)
            self._closing.push_async_callback(hosted.stop)

    def _take_ports(self) -> tuple[NetworkServer, socket.socket | None, socket.socket | None]:
        """Bind the Kafka, push and HTTP ports first of all: a start that fails for a port leaves nothing behind."""
        settings, push_socket, http_socket = self.settings, None, None
        kafka_server = take_kafka_port(settings)
        self._closing.callback(kafka_server.close)
        if settings.push.enabled:
            push_socket = take_push_port(settings)
            self._closing.callback(push_socket.close)
        if settings.http.enabled:
            http_socket = bind_http(settings.http.host, settings.http.port)
            self._closing.callback(http_socket.close)
        return kafka_server, push_socket, http_socket

    def _broker(self, storage: Storage) -> Broker:
        record_worker = RecordWorker(unpacked_bytes_max=self.settings.limits.decompressed_bytes_max)
        self._closing.callback(record_worker.close)
        return build_broker(
            self.settings,
            storage,
            access=self.access,
            metrics=self.metrics,
            clock=SystemClock(),
            record_worker=record_worker,
            closing=self._closing,
        )

    def _watch_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Measure the loop's lag and tame the garbage collector: from here on clients may wait for the loop."""
        garbage = GarbageSearch()
        garbage.start(loop)
        self._closing.callback(garbage.stop)
        self.metrics.loop_lag.start(loop)
        self._closing.callback(self.metrics.loop_lag.stop)

    def _connect_probes(self, broker: Broker) -> None:
        """Gauges that are read at a scrape, and the checks behind /health/ready."""
        metrics, partitions = self.metrics, broker.partitions
        connect_topic_probes(broker.topics, partitions, metrics)
        connect_request_probes(broker.fetch_sessions, broker.parked, broker.quotas, metrics)
        connect_transaction_probes(broker.transactions, metrics)
        connect_telemetry_probes(broker.telemetry, metrics)
        in_memory = self.settings.storage.engine == MEMORY
        connect_storage_probes(broker.engine, partitions, metrics, self.health, in_memory=in_memory)

    def _join_hierarchy(self, http_socket: socket.socket | None) -> None:
        """Start with the topology kept on disk; the registry is asked once children can connect."""
        if self.settings.registry.url is None:
            return
        from penstock.node.topology import connect_topology, topology_client

        http_port = http_socket.getsockname()[1] if http_socket is not None else None
        self.topology = topology_client(self.settings, http_port)
        connect_topology(self.topology, self.metrics, self.health)

    def _push_door(self, broker: Broker, storage: Storage, outbox: Outbox) -> PushDoor | None:
        if not self.settings.push.enabled:
            return None
        push = build_push_door(broker, storage.metadata, outbox)
        connect_push_probes(push, self.metrics)
        return push

    def _http_server(
        self, broker: Broker, http_socket: socket.socket | None, push: PushDoor | None
    ) -> HttpServer | None:
        if http_socket is None:
            return None
        http = HttpServer(
            http_socket,
            access=broker.access,
            metrics=self.metrics,
            health=self.health,
            logs=lambda: log_samples(broker.partitions),
            lags=broker.groups.lags,
            clients=broker.telemetry.samples,
            parts=[
                self.pipe.routes(),
                *([] if push is None else [PushHttp(push.subscriptions, broker.access).routes]),
                *wanted_endpoints(
                    self.settings.http,
                    topics=broker.topics,
                    partitions=broker.partitions,
                    groups=broker.groups,
                    writers=broker.operations.topic_writers,
                    access=broker.access,
                ),
                *admin_api(broker, None if push is None else push.subscriptions, lambda: self.kafka_port),
                *self._parts,
            ],
        )
        self._closing.push_async_callback(http.stop)
        return http

    async def _recover(self, storage: Storage) -> None:
        """Let a long recovery be watched: the HTTP door, which otherwise waits for the Kafka door, opens meanwhile."""
        recovering = asyncio.ensure_future(storage.recover())
        await asyncio.wait([recovering], timeout=LONG_RECOVERY_SECONDS)
        try:
            if not recovering.done():
                logger.info("recovering")
                await self._open_http_door()
        finally:
            await recovering

    async def _open_push_door(self, push: PushDoor, push_socket: socket.socket) -> None:
        assert self._listener is not None
        await push.start(push_socket)
        self._closing.push_async_callback(push.stop)
        frame_bytes_max = self.settings.limits.frame_bytes_max
        self._listener.hand_over(partial(is_push, frame_bytes_max=frame_bytes_max), push.make)

    async def _open_http_door(self) -> None:
        if self._http is not None:
            await self._http.start()

    def _follow_registry(self) -> None:
        if self.topology is not None:
            self.topology.start()
            self._closing.push_async_callback(self.topology.stop)
