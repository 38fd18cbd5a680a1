"""The socket that accepts connections, and the set of those that are open."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from penstock.model.limits import FRAME_STALL_MS_MAX
from penstock.net.connection import Connection
from penstock.net.flow_control import FlowControl
from penstock.net.outbox import Outbox
from penstock.net.scratch import SCRATCH_BYTES
from penstock.net.service import Service
from penstock.net.shared import ConnectionLimits, Shared
from penstock.observability.metrics import BrokerMetrics

log = logging.getLogger(__name__)

IDLE_SWEEP_SECONDS = 10.0
UNREAD_GRACE_SECONDS = 1.0  # for clients to take their last answers when the node stops


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    host: str
    port: int
    backlog: int
    receive_buffer_bytes: int  # 0: as the system likes
    send_buffer_bytes: int
    connections_max: int
    connections_per_address_max: int
    idle_ms_max: int
    connection: ConnectionLimits


def bind(options: ListenerOptions) -> socket.socket:
    """Take the address; clients are refused until `Listener.start`. OSError if it is not to be had."""
    family, kind, protocol, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # inherited: finds peers that vanished
        # Buffer sizes are inherited by accepted sockets, and must be set before listen to affect the TCP window.
        if options.receive_buffer_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
        if options.send_buffer_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
        sock.bind(address)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


class Listener:
    """Owns the server socket and every connection made through it."""

    def __init__(
        self,
        options: ListenerOptions,
        service: Service,
        flow: FlowControl,
        metrics: BrokerMetrics,
        outbox: Outbox | None = None,
    ) -> None:
        self._options = options
        self._metrics = metrics
        self._connections: set[Connection] = set()
        self._by_address: Counter[str] = Counter()
        self._next_id = 0
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self.delay_of: Callable[[str], float] | None = None
        """Seconds after which a new connection from an address is closed unread, 0 if it is welcome; None: all are."""
        self._sweep_seconds = min(IDLE_SWEEP_SECONDS, options.idle_ms_max / 2000)
        self._shared = Shared(
            service=service,
            flow=flow,
            limits=options.connection,
            clock=asyncio.get_running_loop().time,
            on_open=self._opened,
            on_close=self._closed,
            on_broken=metrics.connection_broken,
            scratch=bytearray(SCRATCH_BYTES),
            outbox=outbox or Outbox(asyncio.get_running_loop().call_soon),
        )

    @property
    def port(self) -> int:
        """The port in use, also when 0 asked for any."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    @property
    def muted_count(self) -> int:
        return self._shared.muted

    def serve_with(self, service: Service) -> None:
        """Have requests served by another service from the next one on."""
        self._shared.service = service

    def hand_over(self, first_bytes: range, make: Callable[[], asyncio.Protocol]) -> None:
        """Give connections whose first byte is one of these to another door."""
        self._shared.others = (first_bytes, make)

    async def start(self, bound: socket.socket) -> None:
        """Accept connections at the address that `bind` took. OSError if somebody else was faster after all."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._make, sock=bound, backlog=self._options.backlog)
        self._sweep = loop.call_later(self._sweep_seconds, self._close_idle)

    def stop_accepting(self) -> None:
        """No new connections and no new requests; answers that are due still go out."""
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

    def _make(self) -> Connection:
        self._next_id += 1
        return Connection(self._shared, self._next_id)

    def _opened(self, connection: Connection) -> bool:
        address = connection.caller.peer_host
        self._connections.add(connection)
        self._by_address[address] += 1
        self._metrics.connection_opened()
        if len(self._connections) > self._options.connections_max:
            self._metrics.connection_refused("total")
            log.warning("refused %s: %d connections are open, the limit", address, self._options.connections_max)
            return False
        if self._by_address[address] > self._options.connections_per_address_max:
            self._metrics.connection_refused("address")
            log.warning("refused %s: too many connections from this address", address)
            return False
        if self.delay_of is not None:
            delay_seconds = self.delay_of(address)
            if delay_seconds:
                self._metrics.connection_refused("rate")
                connection.refuse(delay_seconds)
        return True

    def _closed(self, connection: Connection) -> None:
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        address = connection.caller.peer_host
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
        self._metrics.connection_closed()

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._options.idle_ms_max / 1000
        stalled = loop.time() - min(self._options.idle_ms_max, FRAME_STALL_MS_MAX) / 1000
        for connection in tuple(self._connections):
            if connection.stalled_since(stalled):
                connection.close("a request whose bytes stopped coming")
            elif connection.last_active < oldest and connection.answered and not connection.muted:
                self._metrics.connection_broken("idle")
                connection.close()
        self._sweep = loop.call_later(self._sweep_seconds, self._close_idle)
