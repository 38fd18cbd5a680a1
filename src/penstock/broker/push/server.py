"""The push door: its socket, its connections and their heartbeats.

Connections arrive on its own port, or from the Kafka door, which recognises them by their first bytes. One timer
watches all of them.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from typing import Final

from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.broker.login.exchange import Exchange
from penstock.broker.push.connection import LISTENER, PushConnection
from penstock.broker.push.login import PushLogin
from penstock.broker.push.producers import FORGET_INTERVAL_MS, PushProducers
from penstock.broker.push.publishing import Publisher
from penstock.broker.push.requests import Requests
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode
from penstock.model.limits import (
    FRAME_BYTES_PER_SECOND_MIN_CROWDED,
    FRAME_SPARE_MS_MAX_CROWDED,
    FRAME_STALL_MS_MAX,
)
from penstock.net.admission.door import Door
from penstock.net.admission.ticket import Ticket
from penstock.net.flow_control import FlowControl
from penstock.net.login.logins import Logins
from penstock.net.tls.server import Listening, TlsServer, address_of
from penstock.observability.repeats import STRANGERS_LINES_MAX, Repeats
from penstock.runtime.periodic import Periodic
from penstock.security.access import Access
from penstock.security.listener import ListenerSecurity
from penstock.security.principal import Principal
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session

logger = logging.getLogger(__name__)

DEAD_AFTER_INTERVALS: Final = 3
SWEEPS_PER_INTERVAL: Final = 10
SWEPT_AT_ONCE: Final = 500
INSIDE: Final = ListenerSecurity("INSIDE")


class PushDoor:
    """The server for push clients; it accepts connections between `start` and `stop`."""

    def __init__(
        self,
        settings: Settings,
        *,
        subscriptions: Subscriptions,
        producers: PushProducers,
        publisher: Publisher,
        requests: Requests,
        access: Access,
        flow: FlowControl,
        admission: Door,
    ) -> None:
        self.settings = settings.push
        self.subscriptions = subscriptions
        self.producers = producers
        self.publisher = publisher
        self.requests = requests
        self.access = access
        self.admission = admission
        self.outbox = subscriptions.outbox
        self.now: Callable[[], float] = asyncio.get_running_loop().time
        self.linger_seconds = 5.0
        """How long a client may take to read the reason why its connection is closed."""
        self.flow = flow
        """What clients hold, over all doors."""
        self._backlog = settings.kafka.backlog
        self._connections: set[PushConnection] = set()
        self._accepting: set[asyncio.Task[object]] = set()
        self._next_id = 0
        self._server: asyncio.Server | TlsServer | None = None
        self._security = ListenerSecurity(LISTENER)
        self._logins: Logins | None = None
        self._port = 0
        self._sweeping: asyncio.Task[None] | None = None
        self._forgetting = Periodic("push: forgetting producers", FORGET_INTERVAL_MS, producers.forget_unused)
        self.opened_total = 0
        self.broken_total = 0
        self._broken_lines = Repeats(logger, lines_max=STRANGERS_LINES_MAX)
        self.refusals: dict[str, int] = {}

    @property
    def port(self) -> int:
        return self._port

    def connections(self) -> Iterable[PushConnection]:
        return self._connections

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    async def start(self, bound: Listening, security: ListenerSecurity, logins: Logins | None = None) -> None:
        """Accept connections at a bound address. `logins` are needed where a listener has SASL."""
        assert logins is not None or not security.protocol.has_sasl
        self._security = security
        self._logins = logins
        self.subscriptions.load()
        self.access.authorizer.subscribe(self._rules_changed)
        host, self._port = address_of(bound)
        if isinstance(bound, TlsServer):
            await bound.serve(self.admission, self._make)
            self._server = bound
        else:
            loop = asyncio.get_running_loop()
            self._server = await loop.create_server(self._make, sock=bound, backlog=self._backlog)
        self._sweeping = asyncio.create_task(self._sweep_connections(), name="push: heartbeats")
        self._forgetting.start()
        logger.info("listening", extra={"host": host, "port": self.port})

    async def stop(self) -> None:
        """Disconnect all clients with a reason, and store the positions of subscriptions."""
        if self._server is not None:
            self._server.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        await self._forgetting.stop()
        for connection in tuple(self._connections):
            connection.disconnect("the broker stops; come back later")
        deadline = self.now() + 1.0
        while self._connections and self.now() < deadline:  # noqa: ASYNC110  a state of many connections, not an event
            await asyncio.sleep(0.01)
        for connection in tuple(self._connections):
            connection.abort()
        self.subscriptions.stop()

    def take_over(self, security: ListenerSecurity, ticket: Ticket) -> PushConnection:
        """A connection of a Kafka listener, whose security it keeps."""
        return self._new(security, ticket)

    def take_inside(self, stream: socket.socket, principal: Principal) -> None:
        """A connection of a client in this process, which acts as a principal without a login."""
        loop = asyncio.get_running_loop()
        accepting = loop.create_task(loop.connect_accepted_socket(lambda: self._new(INSIDE, None, principal), stream))
        self._accepting.add(accepting)
        accepting.add_done_callback(self._accepting.discard)

    def new_login(self, connection: PushConnection, security: ListenerSecurity) -> PushLogin:
        assert self._logins is not None, "a door with SASL has logins"
        return PushLogin(connection, Exchange(self._logins, security))

    def _make(self, ticket: Ticket | None = None) -> PushConnection:
        """A connection of this door's own port; under TLS it is admitted already."""
        return self._new(self._security, ticket)

    def _new(
        self, security: ListenerSecurity, ticket: Ticket | None, principal: Principal | None = None
    ) -> PushConnection:
        self._next_id += 1
        return PushConnection(self, self._next_id, security, ticket, principal)

    # --- callbacks of connections ------------------------------------------------------------------------------------

    def opened(self, connection: PushConnection) -> None:
        self._connections.add(connection)
        self.opened_total += 1

    def closed(self, connection: PushConnection) -> None:
        self._connections.discard(connection)

    def refused(self, code: ErrorCode) -> None:
        self.refusals[code.name] = self.refusals.get(code.name, 0) + 1

    def broken(self, host: str, reason: str) -> None:
        self.broken_total += 1
        self._broken_lines.info("broken", "push client %s: %s", host, reason)

    # --- rights ------------------------------------------------------------------------------------------------------

    def _rules_changed(self) -> None:
        """Disconnect members that may not read their subscriptions any more: they are sent messages unasked."""
        for connection in tuple(self._connections):
            for live, _ in tuple(connection.memberships.values()):
                error = self._lost_right(connection.session, live)
                if error is not None:
                    self.access.audit.denied(connection.session, Operation.READ, *error[1:])
                    code, kind, name = error
                    right = f"the right to read {kind.name.lower()} {name!r} was taken away"
                    connection.fail(f"{right}: subscription {live.name!r} needs it", code)
                    break

    def _lost_right(self, session: Session, live: LiveSubscription) -> tuple[ErrorCode, ResourceType, str] | None:
        if not self.access.shows_group(session, Operation.READ, live.name):
            return ErrorCode.GROUP_AUTHORIZATION_FAILED, ResourceType.GROUP, live.name
        if not self.access.shows_topic(session, Operation.READ, live.topic):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED, ResourceType.TOPIC, live.topic
        return None

    # --- heartbeats --------------------------------------------------------------------------------------------------

    async def _sweep_connections(self) -> None:
        interval = self.settings.heartbeat_interval_ms / 1000
        step = interval / SWEEPS_PER_INTERVAL
        forgetting = asyncio.ensure_future(self.producers.forget_unused())
        try:
            while True:
                before = self.now()
                await asyncio.sleep(step)
                self._excuse(self.now() - before - step)
                self.subscriptions.save_memory()
                for count, connection in enumerate(tuple(self._connections), 1):
                    self.look_after(connection, interval)
                    if count % SWEPT_AT_ONCE == 0:
                        await asyncio.sleep(0)
        finally:
            forgetting.cancel()

    def _excuse(self, late_seconds: float) -> None:
        """Allow for an event loop that was held up: frames sent meanwhile are unread, so no client counts as silent."""
        if late_seconds > 0.1:
            for connection in self._connections:
                connection.last_received += late_seconds

    def look_after(self, connection: PushConnection, interval: float) -> None:
        now = self.now()
        margin = interval / SWEEPS_PER_INTERVAL
        silent = connection.silent_seconds(now)
        if silent > DEAD_AFTER_INTERVALS * interval - margin:
            connection.fail(f"nothing was heard for {silent:.1f} s; send a HEARTBEAT every {interval:g} s")
        elif connection.is_full and self.subscriptions.unsent.is_crowded and silent > _patience(connection):
            connection.fail("the broker holds too much for clients that do not read; read faster, or with less credit")
        elif connection.is_stalled(now - min(FRAME_STALL_MS_MAX / 1000, DEAD_AFTER_INTERVALS * interval)):
            connection.fail("a frame whose bytes stopped coming")
        elif now - connection.last_sent > interval - margin:
            connection.beat()


def _patience(connection: PushConnection) -> float:
    """Seconds that a client may take to read what it was sent while others need the room."""
    return FRAME_SPARE_MS_MAX_CROWDED / 1000 + connection.unsent_bytes / FRAME_BYTES_PER_SECOND_MIN_CROWDED
