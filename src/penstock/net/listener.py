"""The socket that accepts connections, and the set of those that are open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from penstock.model.limits import FRAME_STALL_MS_MAX
from penstock.net.connection import Connection
from penstock.net.flow_control import FlowControl
from penstock.net.interface import NetworkServer, ServerOptions
from penstock.net.networks import TCP, load_network
from penstock.net.outbox import Outbox
from penstock.net.scratch import SCRATCH_BYTES
from penstock.net.service import Service
from penstock.net.shared import ConnectionLimits, Shared
from penstock.observability.metrics import BrokerMetrics

logger = logging.getLogger(__name__)

IDLE_SWEEP_SECONDS = 10.0
UNREAD_GRACE_SECONDS = 1.0  # for clients to take their last answers when the node stops


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    host: str
    port: int
    backlog: int
    receive_buffer_bytes: int  # 0: the system's default
    send_buffer_bytes: int
    connections_max: int
    connections_per_address_max: int
    idle_ms_max: int
    connection: ConnectionLimits
    network: str = TCP


def bind(options: ListenerOptions) -> NetworkServer:
    """Bind the address; clients are refused until `Listener.start`. OSError if it is not available."""
    server_options = ServerOptions(
        host=options.host,
        port=options.port,
        backlog=options.backlog,
        receive_buffer_bytes=options.receive_buffer_bytes,
        send_buffer_bytes=options.send_buffer_bytes,
    )
    return load_network(options.network).server(server_options)


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
        self._counts = metrics.connections
        self._connections: set[Connection] = set()
        self._by_address: dict[str, int] = {}
        self._server: NetworkServer | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._sweep_seconds = min(IDLE_SWEEP_SECONDS, options.idle_ms_max / 2000)
        self._shared = Shared(
            service=service,
            flow=flow,
            limits=options.connection,
            clock=asyncio.get_running_loop().time,
            on_open=self._opened,
            on_close=self._closed,
            on_broken=metrics.connections.broken,
            scratch=memoryview(bytearray(SCRATCH_BYTES)),
            outbox=outbox or Outbox(asyncio.get_running_loop().call_soon),
        )

    @property
    def port(self) -> int:
        """The port in use, also when 0 asked for any; 0 where the network has none."""
        assert self._server is not None
        return self._server.endpoint.port

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    @property
    def muted_count(self) -> int:
        return self._shared.muted

    def hand_over(self, is_other: Callable[[memoryview], bool | None], make: Callable[[], asyncio.Protocol]) -> None:
        """Hand connections over to the one other door by their first bytes; None asks for more bytes."""
        self._shared.hand_over(is_other, make)

    async def start(self, bound: NetworkServer) -> None:
        """Accept connections at the bound address. OSError if it cannot be used after all."""
        loop = asyncio.get_running_loop()
        self._shared.endpoint = bound.endpoint
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

    def _make(self) -> Connection:
        return Connection(self._shared)

    def _opened(self, connection: Connection) -> bool:
        address = connection.peer.host
        self._connections.add(connection)
        of_address = self._by_address[address] = self._by_address.get(address, 0) + 1
        self._counts.opened()
        if len(self._connections) > self._options.connections_max:
            self._counts.refused("total")
            logger.warning("refused %s: %d connections are open, the limit", address, self._options.connections_max)
            return False
        if of_address > self._options.connections_per_address_max:
            self._counts.refused("address")
            logger.warning("refused %s: too many connections from this address", address)
            return False
        delay_seconds = self._shared.service.refusal_delay(address)
        if delay_seconds:
            self._counts.refused("rate")
            connection.refuse(delay_seconds)
        return True

    def _closed(self, connection: Connection) -> None:
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        address = connection.peer.host
        others = self._by_address.pop(address) - 1
        if others:
            self._by_address[address] = others
        self._counts.closed()

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._options.idle_ms_max / 1000
        stalled = loop.time() - min(self._options.idle_ms_max, FRAME_STALL_MS_MAX) / 1000
        for connection in tuple(self._connections):
            if connection.stalled_since(stalled):
                connection.close("a request whose bytes stopped coming")
            elif connection.last_active < oldest and connection.answered and not connection.muted:
                self._counts.broken("idle")
                connection.close()
        self._sweep = loop.call_later(self._sweep_seconds, self._close_idle)
