"""A node: every part built in order, and torn down in reverse.

Up:   ports taken → storage (directory, lock, metadata, log engine) → topics and partitions → flush rounds → groups →
      Kafka door → push door → HTTP door → registry, if there is one → pipe, if there is a parent → ready
Down: not ready → no new connections or requests → waiting requests answered → groups → logs flushed, clean marker
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.dispatcher import Dispatcher
from penstock.broker.fetch.sessions import FetchSessions
from penstock.broker.gate import Gate
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.produce.timeouts import SWEEP_INTERVAL_MS as PRODUCE_SWEEP_INTERVAL_MS
from penstock.broker.push.server import PushDoor
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.records.worker import RecordWorker
from penstock.broker.telemetry.telemetry import SWEEP_INTERVAL_MS, ClientTelemetry
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.cluster.visibility import visibility_of
from penstock.config.settings import MEMORY, Settings
from penstock.net.flow_control import FlowControl
from penstock.net.interface import NetworkServer
from penstock.net.listener import Listener, bind
from penstock.net.outbox import Outbox
from penstock.node.consumers import find_consumers, start_consumers
from penstock.node.errors import StartError
from penstock.node.garbage import GarbageSearch
from penstock.node.http import HttpServer
from penstock.node.kafka_door import listener_options
from penstock.node.pipe import build_pipe
from penstock.node.preload import Preloader
from penstock.node.probes import (
    connect_listener_probe,
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
from penstock.runtime.periodic import Periodic
from penstock.runtime.plugins import UnknownImplementation
from penstock.security.access import Access

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from penstock.topology.client import TopologyClient

logger = logging.getLogger(__name__)

LONG_RECOVERY_SECONDS = 2.0


class Node:
    """One broker. `start` raises StartError with a message for the user.

    `parts` are routes that its HTTP port serves besides its own.
    """

    def __init__(self, settings: Settings, parts: Iterable[Callable[[], Iterable[BaseRoute]]] = ()) -> None:
        self.settings = settings
        self._parts = tuple(parts)
        self.health = Health()
        self.metrics = BrokerMetrics({api.key: api.name for api in APIS.values()}, settings.node.data_dir, CALLS)
        self.access = Access()
        """The gate of all doors: authentication, and the rights of a session."""
        self._stack = AsyncExitStack()
        self.topology: TopologyClient | None = None
        """None without a hierarchy."""
        self._listener: Listener | None = None
        self._http: HttpServer | None = None
        self._push: PushDoor | None = None

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
            await self._stack.aclose()
            raise
        self.health.phase = Phase.RUNNING
        logger.info("ready", extra={"node": self.settings.node.label, "kafka": self.kafka_port})

    async def stop(self) -> None:
        """Answer requests under way, flush, write the clean marker."""
        logger.info("stopping")
        self.health.phase = Phase.STOPPING
        await self._stack.aclose()
        logger.info("stopped")

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        consumers = await find_consumers(self.settings)
        kafka_server, http_socket, push_socket = self._take_ports()
        storage = open_storage(self.settings, self.metrics)
        self._stack.push_async_callback(storage.close)
        broker = self._build(storage)
        self._watch_loop(loop)
        self._connect_probes(broker)
        self._join_hierarchy(http_socket)
        outbox = Outbox(loop.call_soon)
        push = self._push_door(broker, storage, outbox)
        self.pipe = build_pipe(broker, self.topology, [] if push is None else [push.subscriptions.reset_topics])
        self.pipe.connect_probes(self.metrics, self.health)
        self._http = self._http_server(broker, http_socket, push)
        await self._recover(storage)
        after_round = outbox.send if push is None else push.subscriptions.end_round
        storage.start(broker.partitions.on_flushed, loop, after_round=after_round)
        await self._open_kafka_door(broker, kafka_server, outbox)
        if push is not None and push_socket is not None:
            await self._open_push_door(push, push_socket)
        await self._open_http_door()
        self._follow_registry()
        self.pipe.start()
        self._stack.push_async_callback(self.pipe.stop)
        preloader = Preloader()
        preloader.start()
        self._stack.callback(preloader.stop)
        if consumers:
            hosted = await start_consumers(consumers, self.settings, self.kafka_port, self.metrics)
            self._stack.push_async_callback(hosted.stop)

    def _join_hierarchy(self, http_socket: socket.socket | None) -> None:
        """Start with the topology kept on disk; the registry is asked once children can connect."""
        if self.settings.registry.url is None:
            return
        from penstock.node.topology import connect_topology, topology_client

        http_port = http_socket.getsockname()[1] if http_socket is not None else None
        self.topology = topology_client(self.settings, http_port)
        connect_topology(self.topology, self.metrics, self.health)

    def _follow_registry(self) -> None:
        if self.topology is not None:
            self.topology.start()
            self._stack.push_async_callback(self.topology.stop)

    def _watch_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Measure the loop's lag and tame the garbage collector: from here on clients may wait for the loop."""
        garbage = GarbageSearch()
        garbage.start(loop)
        self._stack.callback(garbage.stop)
        self.metrics.loop_lag.start(loop)
        self._stack.callback(self.metrics.loop_lag.stop)

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

    def _build(self, storage: Storage) -> Broker:
        settings = self.settings
        clock = SystemClock()
        topics = TopicTable()
        controller = Controller(store=storage.metadata, engine=storage.engine, topics=topics, settings=settings)
        self._stack.push_async_callback(controller.close)
        controller.load()
        partitions = PartitionTable(
            engine=storage.engine,
            topics=topics,
            visibility=visibility_of(settings.storage.flush),
        )
        groups = GroupCoordinator(
            settings=settings, partitions=partitions, topics=topics, controller=controller, clock=clock
        )

        quotas = Quotas(
            store=storage.metadata.quotas, commands=controller.commands, clock=clock, probe=self.metrics.quotas
        )
        quotas.load()

        async def next_block(size: int) -> int:
            return await asyncio.to_thread(storage.metadata.producer_ids.next_block, size)

        producer_ids = ProducerIds(next_block)
        transactions = TransactionCoordinator(
            settings=settings.transactions,
            partitions=partitions,
            topics=topics,
            controller=controller,
            clock=clock,
            producer_ids=producer_ids,
            on_offsets_ended=groups.end_transaction,
        )
        record_worker = RecordWorker(unpacked_bytes_max=settings.limits.decompressed_bytes_max)
        self._stack.callback(record_worker.close)
        telemetry = ClientTelemetry(
            configs=controller.configs, worker=record_worker, settings=settings.telemetry, clock=clock
        )
        return Broker(
            settings=settings,
            node_id=settings.node.id,
            cluster_id=storage.metadata.cluster_id,
            clock=clock,
            engine=storage.engine,
            topics=topics,
            partitions=partitions,
            controller=controller,
            groups=groups,
            producer_ids=producer_ids,
            transactions=transactions,
            fetch_sessions=FetchSessions(settings.limits.fetch_sessions_max),
            quotas=quotas,
            telemetry=telemetry,
            metrics=self.metrics,
            flow=FlowControl(settings.limits.queued_bytes_total_max),
            record_worker=record_worker,
            access=self.access,
        )

    def _connect_probes(self, broker: Broker) -> None:
        """Gauges that are read at a scrape, and the checks behind /health/ready."""
        metrics, partitions = self.metrics, broker.partitions
        connect_topic_probes(broker.topics, partitions, metrics)
        connect_request_probes(broker.fetch_sessions, broker.parked, broker.quotas, metrics)
        connect_transaction_probes(broker.transactions, metrics)
        connect_telemetry_probes(broker.telemetry, metrics)
        in_memory = self.settings.storage.engine == MEMORY
        connect_storage_probes(broker.engine, partitions, metrics, self.health, in_memory=in_memory)

    def _take_ports(self) -> tuple[NetworkServer, socket.socket | None, socket.socket | None]:
        """Bind the ports first of all: a start that fails for a port in use leaves nothing behind."""
        host, port = self.settings.kafka.host, self.settings.kafka.port
        try:
            kafka_server = bind(listener_options(self.settings))
        except OSError as error:
            raise _no_port(host, port, error) from error
        except (UnknownImplementation, ValueError) as error:
            raise StartError(str(error)) from error
        self._stack.callback(kafka_server.close)
        push_socket = http_socket = None
        if self.settings.push.enabled:
            push_socket = take_push_port(self.settings)
            self._stack.callback(push_socket.close)
        if self.settings.http.enabled:
            http_socket = bind_http(self.settings.http.host, self.settings.http.port)
            self._stack.callback(http_socket.close)
        return kafka_server, http_socket, push_socket

    def _push_door(self, broker: Broker, storage: Storage, outbox: Outbox) -> PushDoor | None:
        if not self.settings.push.enabled:
            return None
        self._push = build_push_door(broker, storage.metadata, outbox)
        connect_push_probes(self._push, self.metrics)
        return self._push

    async def _open_push_door(self, push: PushDoor, push_socket: socket.socket) -> None:
        assert self._listener is not None
        await push.start(push_socket)
        self._stack.push_async_callback(push.stop)
        frame_bytes_max = self.settings.limits.frame_bytes_max
        self._listener.hand_over(lambda start: is_push(start, frame_bytes_max), push.make)

    async def _open_kafka_door(self, broker: Broker, kafka_server: NetworkServer, outbox: Outbox) -> None:
        """Closing it goes the other way round: nothing new, waiting requests answered, the last answers sent."""
        gate = Gate(Dispatcher(broker), broker.quotas, broker.access, self.metrics)
        listener = self._listener = Listener(listener_options(self.settings), gate, broker.flow, self.metrics, outbox)
        connect_listener_probe(listener, self.metrics)
        self._resolving = asyncio.ensure_future(broker.quotas.resolve_names())
        self._stack.callback(self._resolving.cancel)
        self._stack.push_async_callback(listener.drain, self.settings.kafka.shutdown_timeout_ms / 1000)
        for sweep in (
            Periodic("telemetry", SWEEP_INTERVAL_MS, broker.telemetry.sweep),
            Periodic("produce timeouts", PRODUCE_SWEEP_INTERVAL_MS, broker.produce_timeouts.sweep),
        ):
            sweep.start()
            self._stack.push_async_callback(sweep.stop)
        await broker.groups.start()
        self._stack.push_async_callback(broker.groups.stop)
        await broker.transactions.start()
        self._stack.push_async_callback(broker.transactions.stop)
        host, port = self.settings.kafka.host, self.settings.kafka.port
        try:
            await listener.start(kafka_server)
        except OSError as error:
            raise _no_port(host, port, error) from error
        self._stack.callback(_stop_taking_requests, listener, broker)
        logger.info("listening", extra={"host": host, "port": listener.port})

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
        self._stack.push_async_callback(http.stop)
        return http

    async def _open_http_door(self) -> None:
        if self._http is not None:
            await self._http.start()


def _stop_taking_requests(listener: Listener, broker: Broker) -> None:
    listener.stop_accepting()
    for answer_now in tuple(broker.parked):
        answer_now()


def _no_port(host: str, port: int, error: OSError) -> StartError:
    if isinstance(error, socket.gaierror):
        return StartError(f"{host} is not an address of this machine ({error.strerror}); change --host")
    return StartError(
        f"cannot listen on {host}:{port} ({error.strerror}); stop what uses the port, or choose another"
        " with --kafka-port and --host"
    )
