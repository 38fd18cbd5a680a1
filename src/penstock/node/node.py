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
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.push.server import PushDoor
from penstock.broker.records.worker import RecordWorker
from penstock.config.settings import MEMORY, Settings
from penstock.net.login.logins import Logins
from penstock.net.open_connections import OpenConnections
from penstock.net.outbox import Outbox
from penstock.net.tls.server import Listening, address_of
from penstock.node.admission import build_doors, connect_admission_probes, watched
from penstock.node.broker import build_broker
from penstock.node.consumers.hosted import find_consumers, start_consumers
from penstock.node.errors import SettingsError
from penstock.node.garbage import GarbageSearch
from penstock.node.http import HttpServer, http_port
from penstock.node.kafka_door import KafkaDoor, TakenPort, open_kafka_door, take_kafka_port
from penstock.node.pipe import PipePart, build_pipe
from penstock.node.preload import Preloader
from penstock.node.probes import (
    connect_memory_probes,
    connect_request_probes,
    connect_storage_probes,
    connect_telemetry_probes,
    connect_topic_probes,
    connect_transaction_probes,
    log_samples,
)
from penstock.node.push_door import PushHttp, build_push_door, connect_push_probes, take_push_port
from penstock.node.rest.part import admin_api
from penstock.node.security.access import build_access as access_by_settings
from penstock.node.security.access import connect_access_probes, open_policy_file
from penstock.node.security.administrators import warn_without_rights, warn_without_users
from penstock.node.security.certificates import DoorCertificates
from penstock.node.security.door_plans import DoorPlans, plan_doors, without_effect
from penstock.node.security.exposure import check_exposure
from penstock.node.security.extensions import check_acl_settings, load_authenticator
from penstock.node.security.logins import audit_handshakes, build_logins, request_login, web_sessions
from penstock.node.security.policy_file import PolicyFile
from penstock.node.storage import Storage, open_storage
from penstock.node.test_endpoints.part import wanted_endpoints
from penstock.node.web_server import bind as bind_http
from penstock.node.web_server import bind_encrypted
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


class Node:
    """One broker. `start` raises StartError with a message for the user.

    `parts` are routes that its HTTP port serves besides its own. `build_access` is called once meta.db is open, so that
    an authorizer can have its rules there; without one the settings decide.
    """

    def __init__(
        self,
        settings: Settings,
        parts: Iterable[Callable[[], Iterable[BaseRoute]]] = (),
        *,
        build_access: Callable[[MetadataStore], Access] | None = None,
    ) -> None:
        self.settings = settings
        self._parts = tuple(parts)
        self._build_access = build_access or partial(access_by_settings, settings)
        self.health = Health()
        self.metrics = BrokerMetrics({api.key: api.name for api in APIS.values()}, settings.node.data_dir, CALLS)
        self._doors = build_doors(settings)
        self._connections = OpenConnections()
        self._closing = AsyncExitStack()
        """Closes what is open, the last first."""
        self.topology: TopologyClient | None = None
        """The link to the registry; None without a hierarchy."""
        self._kafka: KafkaDoor | None = None
        self._plans: DoorPlans
        self._certificates = DoorCertificates(settings.tls.reload_interval_ms)
        self._http: HttpServer | None = None
        self._push: PushDoor | None = None
        self._policy_file: PolicyFile | None = None
        self._reloading: asyncio.Future[None] | None = None
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
        assert self._kafka is not None
        return self._kafka.port

    async def start(self) -> None:
        try:
            await self._start()
        except BaseException:
            await self._closing.aclose()
            raise
        self.health.phase = Phase.RUNNING
        logger.info("ready", extra={"node": self.settings.node.label, "kafka": self.kafka_port})

    def reload(self) -> None:
        """Read the files again that settings name and that may change."""
        self._reloading = asyncio.ensure_future(self._reload())

    async def _reload(self) -> None:
        if self._policy_file is not None:
            await self._policy_file.reload()
        await self._certificates.reload()

    async def stop(self) -> None:
        """Answer requests under way, flush, write the clean marker."""
        logger.info("stopping")
        self.health.phase = Phase.STOPPING
        await self._closing.aclose()
        logger.info("stopped")

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        consumers = await find_consumers(self.settings)
        kafka_ports, push_socket, http_socket = self._take_ports()
        storage = open_storage(self.settings, self.metrics)
        self._closing.push_async_callback(storage.close)
        self.access = self._build_access(storage.metadata)
        self._follow_policy_file()
        broker = self._broker(storage)
        users = broker.controller.users.table
        warn_without_users(self.settings, self._plans, users, broker.controller.tokens.table)
        logins = await self._logins(broker)
        self._watch_loop(loop)
        await self._closing.enter_async_context(watched(self._doors.admission))
        self._connect_probes(broker)
        self._join_hierarchy(http_socket)
        outbox = Outbox(loop.call_soon)
        push = self._push = self._push_door(broker, storage, outbox)
        self.pipe = build_pipe(broker, self.topology, [] if push is None else [push.subscriptions.reset_topics])
        self.pipe.connect_probes(self.metrics, self.health)
        self._http = self._http_server(broker, http_socket, push, logins)

        await self._recover(storage)
        after_round = outbox.send if push is None else push.subscriptions.end_round
        storage.start(broker.partitions.on_flushed, loop, after_round=after_round)
        self._kafka = await open_kafka_door(broker, kafka_ports, outbox, self._doors.kafka, self._closing, logins)
        self._connections.add_door(self._kafka.connections)
        if push is not None and push_socket is not None:
            await self._open_push_door(push, push_socket, logins)
        await self._open_http_door()
        self._follow_registry()
        self.pipe.start()
        self._closing.push_async_callback(self.pipe.stop)
        preloader = Preloader()
        preloader.start()
        self._closing.callback(preloader.stop)
        if consumers:
            assert push is not None, "consumers need the push door"
            hosted = await start_consumers(consumers, self.settings, push, self.metrics)
            self._closing.push_async_callback(hosted.stop)

    def _follow_policy_file(self) -> None:
        policy_file = self._policy_file = open_policy_file(self.settings, self.access, self._plans)
        connect_access_probes(self.access, policy_file, self.metrics, self.health)
        warn_without_rights(self.settings, self.access.authorizer)
        if policy_file is not None:
            policy_file.watch()
            self._closing.push_async_callback(policy_file.stop)

    def _take_ports(self) -> tuple[list[TakenPort], Listening | None, Listening | None]:
        """Bind the Kafka, push and HTTP ports first of all: a start that fails for a port leaves nothing behind."""
        settings = self.settings
        push_socket: Listening | None = None
        http_socket: Listening | None = None
        if settings.security.users_file is not None:
            raise SettingsError("security.users_file is for a registry or an edge; a node has its users in meta.db")
        plans = self._plans = plan_doors(settings)
        for problem in without_effect(settings):
            logger.warning(problem)
        check_acl_settings(settings.acl)
        for problem in check_exposure(plans, settings):
            logger.warning("%s; security.insecure allows it", problem)
        kafka_ports = []
        for plan in plans.kafka:
            kafka_ports.append(take_kafka_port(settings, plan, self._certificates.of(plan)))
            self._closing.callback(kafka_ports[-1].server.close)
        if plans.push is not None:
            push_socket = take_push_port(settings, plans.push, self._certificates.of(plans.push))
            self._closing.callback(push_socket.close)
        if plans.http is not None:
            certificates = self._certificates.of(plans.http)
            if certificates is None:
                http_socket = bind_http(plans.http.host, plans.http.port)
            else:
                http_socket = bind_encrypted(plans.http, certificates)
            self._closing.callback(http_socket.close)
        self._follow_certificates()
        return kafka_ports, push_socket, http_socket

    def _follow_certificates(self) -> None:
        self.metrics.add_probe(self._certificates)
        self.health.add_warning("certificates", self._certificates.problem)
        self.health.add_warning("revocations", self._certificates.list_problem)
        self._certificates.watch()
        self._closing.push_async_callback(self._certificates.stop)

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

    async def _logins(self, broker: Broker) -> Logins | None:
        """The logins of all doors, if one has SASL: a client that guesses is held off wherever it tries."""
        foreign = load_authenticator(self.settings.security, self._plans)
        if not any(plan.security.protocol.has_sasl for plan in self._plans.all):
            return None
        return await build_logins(broker.controller.users.table, broker.access.audit, self.settings.sasl, foreign)

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
        connect_admission_probes(self._doors.admission, metrics, self.health)
        connect_topic_probes(broker.topics, partitions, metrics)
        connect_request_probes(broker.fetch_sessions, broker.parked, broker.quotas, metrics)
        connect_memory_probes(broker.flow, broker.groups.memory, metrics)
        connect_transaction_probes(broker.transactions, metrics)
        connect_telemetry_probes(broker.telemetry, metrics)
        in_memory = self.settings.storage.engine == MEMORY
        connect_storage_probes(broker.engine, partitions, metrics, self.health, in_memory=in_memory)

    def _join_hierarchy(self, http_socket: Listening | None) -> None:
        """Start with the topology kept on disk; the registry is asked once children can connect."""
        if self.settings.registry.url is None:
            return
        from penstock.node.topology import connect_topology, topology_client

        port = 0 if http_socket is None else address_of(http_socket).port
        self.topology = topology_client(self.settings, self._plans.http, port)
        connect_topology(self.topology, self.metrics, self.health)

    def _push_door(self, broker: Broker, storage: Storage, outbox: Outbox) -> PushDoor | None:
        if not self.settings.push.enabled:
            return None
        push = build_push_door(broker, storage.metadata, outbox, self._doors.push)
        connect_push_probes(push, self.metrics)
        self._connections.add_door(push.connections)
        return push

    def _http_server(
        self, broker: Broker, http_socket: Listening | None, push: PushDoor | None, logins: Logins | None
    ) -> HttpServer | None:
        plan = self._plans.http
        if http_socket is None or plan is None:
            return None
        audit_handshakes(http_socket, plan.security, broker.access.audit)
        sessions = web_sessions(plan.security, self.settings.http)
        users, tokens = broker.controller.users.table, broker.controller.tokens.table
        login = request_login(plan.security, logins, sessions, users, tokens, broker.clock.now_ms, broker.access.audit)
        http = HttpServer(
            http_port(self.settings, http_socket, self._doors.http, login),
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
                *admin_api(
                    broker,
                    None if push is None else push.subscriptions,
                    lambda: self.kafka_port,
                    sessions,
                    self._connections,
                ),
                *self._parts,
            ],
        )
        self._closing.push_async_callback(http.stop)
        self._connections.add_door(http.connections)
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

    async def _open_push_door(self, push: PushDoor, push_socket: Listening, logins: Logins | None) -> None:
        assert self._kafka is not None
        assert self._plans.push is not None
        audit_handshakes(push_socket, self._plans.push.security, push.access.audit)
        await push.start(push_socket, self._plans.push.security, logins)
        self._closing.push_async_callback(push.stop)
        frame_bytes_max = self.settings.limits.frame_bytes_max
        self._kafka.hand_over(partial(is_push, frame_bytes_max=frame_bytes_max), push.take_over)

    async def _open_http_door(self) -> None:
        if self._http is not None:
            await self._http.start()

    def _follow_registry(self) -> None:
        if self.topology is not None:
            self.topology.start()
            self._closing.push_async_callback(self.topology.stop)
