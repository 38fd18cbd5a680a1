"""A web application on a port, served by uvicorn in the current event loop, without its signal handlers.

The port is bound first, so that a port in use is a clear start error. The web stack is imported on first use, in a
thread, where the application is built as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from penstock.net.admission.ticket import Ticket
from penstock.net.http.port import HttpPort
from penstock.net.http.server_log import replace_warnings
from penstock.net.interface import ServerOptions
from penstock.net.open_connections import OpenConnection
from penstock.net.tcp import bound_socket
from penstock.net.tls.server import TlsServer
from penstock.node.errors import StartError
from penstock.node.security.door_plans import DoorPlan
from penstock.security.tls.certificates import Certificates

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)

BACKLOG = 128
# Time for answers that are still being sent; a scraper that stalls is cut off with the server.
STOP_TIMEOUT_S = 2


class WebServer:
    """Server of the application that `build` returns, from `start` to `stop`."""

    def __init__(self, port: HttpPort, build: Callable[[], ASGIApp]) -> None:
        self._port = port
        self._build_application = build
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port = port.number

    async def start(self) -> None:
        """Load the web stack, then serve. A second call does nothing."""
        if self._server is not None:
            return
        replace_warnings(logger)
        self._server = await asyncio.to_thread(self._build)
        listening = self._port.listening
        sockets = None if isinstance(listening, TlsServer) else [listening]
        self._serving = asyncio.create_task(self._server.serve(sockets), name="http")
        logger.info("listening", extra={"host": self._port.address.host, "port": self.port})

    def connections(self) -> Iterable[OpenConnection]:
        return () if self._server is None else cast("Iterable[OpenConnection]", self._server.server_state.connections)

    async def stop(self) -> None:
        if self._server is None or self._serving is None:
            return
        if isinstance(self._port.listening, TlsServer):
            self._port.listening.close()
        self._server.should_exit = True
        await self._serving
        self._server = self._serving = None

    def _build(self) -> uvicorn.Server:
        import anyio._backends._asyncio  # noqa: F401  the first request would load it, on the event loop
        import starlette.responses  # noqa: F401
        import uvicorn

        from penstock.net.http.body_room import BodyRoom
        from penstock.net.http.browser_guard import BrowserGuard
        from penstock.net.http.connection import HttpConnection

        class Server(uvicorn.Server):
            """Signals belong to the node, not to its web server; encrypted connections come from a server of ours."""

            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                if not isinstance(port.listening, TlsServer):
                    await super().startup(sockets)
                    return
                await self.lifespan.startup()
                await port.listening.serve(port.admission, self._encrypted)
                self.servers = []
                self.started = True

            def _encrypted(self, ticket: Ticket) -> asyncio.BaseProtocol:
                state = self.lifespan.state
                return make(config=self.config, server_state=self.server_state, app_state=state, ticket=ticket)

        port = self._port
        make = partial(HttpConnection, door=port.admission, times=port.times)
        config = uvicorn.Config(
            BrowserGuard(BodyRoom(self._build_application(), port.bodies_bytes_max), port.hosts),
            http=cast("type[asyncio.Protocol]", make),
            timeout_keep_alive=cast(int, port.times.idle_s),  # in fractions, too: it is the delay of a timer
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,  # or programs of this machine could ask in the name of any address
            timeout_graceful_shutdown=STOP_TIMEOUT_S,
        )
        config.load()
        return Server(config)


def bind(host: str, port: int, flag: str = "--http-port", host_setting: str = "http.host") -> socket.socket:
    """Return a listening socket; StartError with the remedy otherwise.

    `flag` and `host_setting` are what the user has to change: they are not the same for every command.
    """
    with _told_to_users(host, port, flag, host_setting):
        return bound_socket(host, port, BACKLOG)


def bind_encrypted(
    plan: DoorPlan, certificates: Certificates, flag: str = "--http-port", host_setting: str = "http.host"
) -> TlsServer:
    """The same for a door with TLS."""
    with _told_to_users(plan.host, plan.port, flag, host_setting):
        options = ServerOptions(host=plan.host, port=plan.port, backlog=BACKLOG)
        return TlsServer(options, certificates, handshake_seconds=plan.handshake_ms_max / 1000)


@contextlib.contextmanager
def _told_to_users(host: str, port: int, flag: str, host_setting: str) -> Iterator[None]:
    try:
        yield
    except socket.gaierror as error:
        raise StartError(f"HTTP address {host} cannot be used ({error.strerror}); change {host_setting}") from error
    except OSError as error:
        raise StartError(
            f"HTTP port {port} on {host} cannot be opened ({error.strerror});"
            f" stop the program that uses it, or choose another port with {flag}"
        ) from error
