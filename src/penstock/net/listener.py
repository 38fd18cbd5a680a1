"""The socket that accepts connections, and the set of those that are open."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.model.limits import FRAME_SPARE_MS_MAX
from penstock.net.admission.door import Door
from penstock.net.admission.ticket import Refusal, Ticket
from penstock.net.connection.connection import Connection
from penstock.net.connection.scratch import make_scratch
from penstock.net.connection.shared import ConnectionLimits, Shared
from penstock.net.endpoint import is_one_address
from penstock.net.flow_control import FlowControl
from penstock.net.interface import NetworkServer, ServerOptions
from penstock.net.networks import TCP, load_network
from penstock.net.outbox import Outbox
from penstock.net.service import Service
from penstock.net.tls.server import Contexts, TlsServer
from penstock.observability.metrics import BrokerMetrics

logger = logging.getLogger(__name__)

IDLE_SWEEP_SECONDS = 10.0
CROWDED_SWEEP_SECONDS = 1.0  # while frames wait for the room of others, of which some may be too slow
UNREAD_GRACE_SECONDS = 1.0  # for clients to take their last answers when the node stops


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    host: str
    port: int
    backlog: int
    receive_buffer_bytes: int  # 0: the system's default
    send_buffer_bytes: int
    idle_ms_max: int
    connection: ConnectionLimits
    network: str = TCP
    certificates: Contexts | None = None  # None: without TLS
    handshake_ms_max: int = 10_000


Bound = NetworkServer | TlsServer


def bind(options: ListenerOptions) -> Bound:
    """Bind the address; clients are refused until `Listener.start`. OSError if it is not available."""
    server_options = ServerOptions(
        host=options.host,
        port=options.port,
        backlog=options.backlog,
        receive_buffer_bytes=options.receive_buffer_bytes,
        send_buffer_bytes=options.send_buffer_bytes,
    )
    if options.certificates is None:
        return load_network(options.network).server(server_options)
    return TlsServer(server_options, options.certificates, handshake_seconds=options.handshake_ms_max / 1000)


class Listener:
    """Owns the server socket and every connection made through it."""

    def __init__(
        self,
        options: ListenerOptions,
        service: Service,
        flow: FlowControl,
        metrics: BrokerMetrics,
        door: Door,
        outbox: Outbox | None = None,
    ) -> None:
        self._options = options
        self._counts = metrics.connections
        self._connections: set[Connection] = set()
        self._door = door
        self._closing: set[Connection] = set()  # those that were at the last sweep
        self._server: Bound | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._sweep_seconds = min(IDLE_SWEEP_SECONDS, options.idle_ms_max / 2000)
        self._shared = Shared(
            service=service,
            flow=flow,
            limits=options.connection,
            door=door,
            clock=time.monotonic,
            on_open=self._opened,
            on_close=self._closed,
            on_broken=metrics.connections.broken,
            scratch=make_scratch(),
            outbox=outbox or Outbox(asyncio.get_running_loop().call_soon),
            encrypted=options.certificates is not None,
        )

    @property
    def port(self) -> int:
        """The port in use, also when 0 asked for any; 0 where the network has none."""
        assert self._server is not None
        return self._server.endpoint.port

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def connections(self) -> Iterable[Connection]:
        return self._connections

    @property
    def muted_count(self) -> int:
        return self._shared.muted

    def hand_over(
        self, is_other: Callable[[memoryview], bool | None], make: Callable[[Ticket], asyncio.Protocol]
    ) -> None:
        """Hand connections over to the one other door by their first bytes; None asks for more bytes."""
        self._shared.hand_over(is_other, make)

    async def start(self, bound: Bound) -> None:
        """Accept connections at the bound address. OSError if it cannot be used after all."""
        loop = asyncio.get_running_loop()
        self._shared.endpoint = bound.endpoint
        self._shared.has_one_address = is_one_address(bound.endpoint.host)
        if isinstance(bound, TlsServer):
            await bound.serve(self._door, self._make)
        else:
            await bound.serve(self._make)
        self._server = bound
        self._sweep = loop.call_later(self._sweep_seconds, self._close_idle)

    def stop_accepting(self) -> None:
        """Take no new connections and no new requests; answers that are due still go out."""
        if self._sweep is not None:
            self._sweep.cancel()
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.stop_reading()

    async def drain(self, timeout_seconds: float) -> None:
        """Wait until every request is answered, give clients a moment to read, then close; after the timeout anyway."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_seconds
        # These are states of many connections, not events that could be awaited.
        while loop.time() < deadline and any(not c.answered for c in self._connections):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        deadline = min(deadline, loop.time() + UNREAD_GRACE_SECONDS)
        while loop.time() < deadline and any(c.unread for c in self._connections):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for connection in tuple(self._connections):
            connection.close()
        while self._connections and loop.time() < deadline + 1.0:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    def _make(self, ticket: Ticket | None = None) -> Connection:
        return Connection(self._shared, ticket)

    def _opened(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._counts.opened()
        delay_seconds = self._shared.service.refusal_delay(connection.peer.host)
        if delay_seconds:
            self._door.refused[Refusal.RATE] += 1
            connection.refuse(delay_seconds)

    def _closed(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.discard(connection)
            self._counts.closed()

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        now = self._shared.clock()
        oldest = now - self._options.idle_ms_max / 1000
        closing: set[Connection] = set()
        spare_seconds = min(self._options.idle_ms_max, FRAME_SPARE_MS_MAX) / 1000
        for connection in tuple(self._connections):
            if connection.is_closing:
                closing.add(connection)
                if connection in self._closing:
                    connection.abort()  # it does not read its last answers
            elif connection.sends_too_slowly(now, spare_seconds):
                connection.close("a request whose bytes stopped coming, or come too slowly")
                connection.abort()
            elif connection.last_active < oldest and connection.is_idle:
                self._counts.broken("idle")
                connection.close()
        self._closing = closing
        is_crowded = self._shared.flow.is_crowded
        next_seconds = min(self._sweep_seconds, CROWDED_SWEEP_SECONDS) if is_crowded else self._sweep_seconds
        self._sweep = loop.call_later(next_seconds, self._close_idle)
