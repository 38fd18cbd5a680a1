"""A web application on a port, served by uvicorn in the current event loop, without its signal handlers.

The port is bound first, so that a port in use is a clear start error. The web stack is imported on first use, in a
thread, where the application is built as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from penstock.net.tcp import bound_socket
from penstock.node.errors import StartError
from penstock.node.wrong_protocol import replace_warnings

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)

BACKLOG = 128
# Time for answers that are still being sent; a scraper that stalls is cut off with the server.
STOP_TIMEOUT_S = 2


class WebServer:
    """Server of the application that `build` returns, from `start` to `stop`."""

    def __init__(self, listening: socket.socket, build: Callable[[], ASGIApp]) -> None:
        self._listening = listening
        self._build_application = build
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port: int = listening.getsockname()[1]

    async def start(self) -> None:
        """Load the web stack, then serve. A second call does nothing."""
        if self._server is not None:
            return
        replace_warnings(logger)
        self._server = await asyncio.to_thread(self._build)
        self._serving = asyncio.create_task(self._server.serve([self._listening]), name="http")
        logger.info("listening", extra={"host": self._listening.getsockname()[0], "port": self.port})

    async def stop(self) -> None:
        if self._server is None or self._serving is None:
            return
        self._server.should_exit = True
        await self._serving
        self._server = self._serving = None

    def _build(self) -> uvicorn.Server:
        import anyio._backends._asyncio  # noqa: F401  the first request would load it, on the event loop
        import starlette.responses  # noqa: F401
        import uvicorn

        class Server(uvicorn.Server):
            """Signals belong to the node, not to its web server."""

            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        config = uvicorn.Config(
            self._build_application(),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=STOP_TIMEOUT_S,
        )
        config.load()
        return Server(config)


def bind(host: str, port: int, flag: str = "--http-port", host_setting: str = "http.host") -> socket.socket:
    """Return a listening socket; StartError with the remedy otherwise.

    `flag` and `host_setting` are what the user has to change: they are not the same for every command.
    """
    try:
        return bound_socket(host, port, BACKLOG)
    except socket.gaierror as error:
        raise StartError(f"HTTP address {host} cannot be used ({error.strerror}); change {host_setting}") from error
    except OSError as error:
        raise StartError(
            f"HTTP port {port} on {host} cannot be opened ({error.strerror});"
            f" stop the program that uses it, or choose another port with {flag}"
        ) from error
