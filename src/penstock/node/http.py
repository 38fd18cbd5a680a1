"""The HTTP port of a node: /health/live, /health/ready, /metrics, and the routes of other parts.

Starlette on uvicorn, in the broker's own event loop. Both are imported here on first use and in a thread: the
Kafka door is open long before. The port itself is bound first, so that a port in use is a clear start error.
Anything that is not found or not allowed is answered as problem+json (RFC 9457).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from penstock.node.errors import StartError
from penstock.observability.exposition import CONTENT_TYPE, ClientSample, LagSample, LogSample, pages
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

logger = logging.getLogger(__name__)

BACKLOG = 128
PIECE_BYTES_MIN = 32 * 1024
# What is left of the page's time is spent on the wire; a scraper that stalls is cut off with the server.
STOP_TIMEOUT_S = 2


class HttpServer:
    """Serves between `start` and `stop`. `logs`, `lags` and `clients` are asked for at every scrape.

    What other parts serve comes as functions that return their routes. They are called once, in the thread that loads
    the web stack, so that they may import it.
    """

    def __init__(
        self,
        listening: socket.socket,
        *,
        metrics: BrokerMetrics,
        health: Health,
        logs: Callable[[], Iterable[LogSample]] = tuple,
        lags: Callable[[], Iterable[LagSample]] = tuple,
        clients: Callable[[], Iterable[ClientSample]] = tuple,
        parts: Iterable[Callable[[], Iterable[BaseRoute]]] = (),
    ) -> None:
        self._metrics = metrics
        self._health = health
        self._logs = logs
        self._lags = lags
        self._clients = clients
        self._parts = tuple(parts)
        self._listening = listening
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port: int = listening.getsockname()[1]

    async def start(self) -> None:
        """Load the web stack, then serve. Once: a second call does nothing."""
        if self._server is not None:
            return
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
            self._application(),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=STOP_TIMEOUT_S,
        )
        config.load()
        return Server(config)

    def _application(self) -> Starlette:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route

        routes = [
            Route("/health/live", self._live),
            Route("/health/ready", self._ready),
            Route("/metrics", self._page),
            *(route for part in self._parts for route in part()),
        ]
        return Starlette(routes=routes, exception_handlers={HTTPException: _problem})

    async def _live(self, _: Request) -> Response:
        return _json(HTTPStatus.OK, {"status": "live"})

    async def _ready(self, _: Request) -> Response:
        report = self._health.report()
        status = HTTPStatus.OK if report.ready else HTTPStatus.SERVICE_UNAVAILABLE
        return _json(status, {"status": "ready" if report.ready else "not ready", **asdict(report)})

    async def _page(self, _: Request) -> Response:
        from starlette.responses import StreamingResponse

        return StreamingResponse(self._pieces(), media_type=CONTENT_TYPE)

    async def _pieces(self) -> AsyncIterator[bytes]:
        """The page, a little at a time: requests of Kafka clients are served in between."""
        gathered = bytearray()
        for piece in pages(self._metrics.registry, self._logs(), self._lags(), self._clients()):
            gathered += piece
            if len(gathered) >= PIECE_BYTES_MIN:
                yield bytes(gathered)
                gathered.clear()
            await asyncio.sleep(0)
        yield bytes(gathered)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; what goes wrong is told with its remedy."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise StartError(f"HTTP address {host} is not usable ({error.strerror}); change http.host") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise StartError(
            f"HTTP port {port} on {host} cannot be opened ({error.strerror});"
            " stop what uses it, or choose another with --http-port"
        ) from error
    listening.setblocking(False)
    return listening


def _json(status: HTTPStatus, body: dict[str, Any], media_type: str = "application/json") -> Response:
    from starlette.responses import Response

    return Response(json.dumps(body) + "\n", status_code=status, media_type=media_type)


async def _problem(request: Request, error: Exception) -> Response:
    from starlette.exceptions import HTTPException

    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    body = {"type": "about:blank", "title": status.phrase, "status": int(status), "instance": request.url.path}
    if status is HTTPStatus.NOT_FOUND:
        body["detail"] = "this port has /health/live, /health/ready and /metrics"
    response = _json(status, body, "application/problem+json")
    response.headers.update(error.headers or {})
    return response
