"""The push door: its socket, its connections and their heartbeats.

Connections arrive on its own port, or from the Kafka door, which recognises them by their first bytes. One timer
watches all of them.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final

from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.broker.push.connection import PushConnection
from penstock.broker.push.producers import PushProducers
from penstock.broker.push.publishing import Publisher
from penstock.broker.push.requests import Requests
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode
from penstock.model.limits import FRAME_STALL_MS_MAX
from penstock.net.flow_control import FlowControl
from penstock.net.outbox import Outbox
from penstock.security.access import Access

logger = logging.getLogger(__name__)

DEAD_AFTER_INTERVALS: Final = 3
SWEEPS_PER_INTERVAL: Final = 10
SWEPT_AT_ONCE: Final = 500


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
        outbox: Outbox,
    ) -> None:
        self.settings = settings.push
        self.subscriptions = subscriptions
        self.producers = producers
        self.publisher = publisher
        self.requests = requests
        self.access = access
        self.outbox = outbox
        self.now: Callable[[], float] = asyncio.get_running_loop().time
        self.linger_seconds = 5.0
        """How long a client may take to read the reason why its connection is closed."""
        self._flow = flow
        self._backlog = settings.kafka.backlog
        self._connections_max = settings.limits.connections_max
        self._connections: set[PushConnection] = set()
        self._next_id = 0
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self.opened_total = 0
        self.broken_total = 0
        self.refusals: dict[str, int] = {}

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    async def start(self, bound: socket.socket) -> None:
        """Accept connections at a bound address."""
        self.subscriptions.load()
        self._server = await asyncio.get_running_loop().create_server(self.make, sock=bound, backlog=self._backlog)
        self._sweeping = asyncio.create_task(self._sweep_connections(), name="push: heartbeats")
        logger.info("listening", extra={"host": bound.getsockname()[0], "port": self.port})

    async def stop(self) -> None:
        """Disconnect all clients with a reason, and store the positions of subscriptions."""
        if self._server is not None:
            self._server.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in tuple(self._connections):
            connection.disconnect("the broker stops; come back later")
        deadline = self.now() + 1.0
        while self._connections and self.now() < deadline:  # noqa: ASYNC110  a state of many connections, not an event
            await asyncio.sleep(0.01)
        for connection in tuple(self._connections):
            connection.abort()
        self.subscriptions.stop()

    def make(self) -> PushConnection:
        self._next_id += 1
        return PushConnection(self, self._next_id)

    # --- callbacks of connections ------------------------------------------------------------------------------------

    def opened(self, connection: PushConnection) -> str | None:
        """Register a connection. Returns the reason if it is refused."""
        self._connections.add(connection)
        self.opened_total += 1
        most = self._connections_max
        if len(self._connections) > most:
            return f"{most} connections are open, which is the most (limits.connections_max)"
        return None

    def closed(self, connection: PushConnection) -> None:
        self._connections.discard(connection)

    def refused(self, code: ErrorCode) -> None:
        self.refusals[code.name] = self.refusals.get(code.name, 0) + 1

    def broken(self) -> None:
        self.broken_total += 1

    def hold(self, delta: int) -> None:
        """Account for bytes of incomplete frames, over all doors."""
        if delta:
            self._flow.change(delta)

    @property
    def is_exhausted(self) -> bool:
        return self._flow.exhausted

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
        elif connection.is_stalled(now - FRAME_STALL_MS_MAX / 1000):
            connection.fail("a frame whose bytes stopped coming")
        elif now - connection.last_sent > interval - margin:
            connection.beat()
