"""The HTTP port of a node: /health/live, /health/ready, /metrics, and the routes of other parts.

`web_server` runs it in the broker's own event loop and loads the web stack in a thread: the Kafka door is open long
before. Anything that is not found or not allowed is answered as problem+json (RFC 9457).
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from penstock.model.errors import KafkaError
from penstock.net.http.session_gate import SessionGate, denied, session_of
from penstock.node.web_server import WebServer
from penstock.observability.exposition import CONTENT_TYPE, ClientSample, LagSample, LogSample, pages
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from penstock.security.access import Access
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

HttpPart = Callable[[], "Iterable[BaseRoute]"]
PIECE_BYTES_MIN = 32 * 1024


class HttpServer:
    """Serves between `start` and `stop`. `logs`, `lags` and `clients` are asked for at every scrape.

    Other parts contribute functions that return their routes. They are called once, in the thread that loads
    the web stack, so that they may import it.
    """

    def __init__(
        self,
        listening: socket.socket,
        *,
        access: Access,
        metrics: BrokerMetrics,
        health: Health,
        logs: Callable[[], Iterable[LogSample]] = tuple,
        lags: Callable[[], Iterable[LagSample]] = tuple,
        clients: Callable[[], Iterable[ClientSample]] = tuple,
        parts: Iterable[HttpPart] = (),
    ) -> None:
        self._access = access
        self._metrics = metrics
        self._health = health
        self._logs = logs
        self._lags = lags
        self._clients = clients
        self._parts = tuple(parts)
        self._server = WebServer(listening, self._application)
        self.port = self._server.port

    async def start(self) -> None:
        """Start the HTTP server. A second call does nothing."""
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()

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
        app = Starlette(routes=routes, exception_handlers={HTTPException: _problem, KafkaError: denied})
        app.add_middleware(SessionGate, access=self._access)
        return app

    async def _live(self, _: Request) -> Response:
        return _json(HTTPStatus.OK, {"status": "live"})

    async def _ready(self, request: Request) -> Response:
        """The status for every session, the details for those that may describe the cluster."""
        report = self._health.report()
        status = HTTPStatus.OK if report.ready else HTTPStatus.SERVICE_UNAVAILABLE
        details = asdict(report) if self._access.allows_cluster(session_of(request), Operation.DESCRIBE) else {}
        return _json(status, {"status": "ready" if report.ready else "not ready", **details})

    async def _page(self, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        self._access.check_cluster(session_of(request), Operation.DESCRIBE)
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


def _json(status: HTTPStatus, body: dict[str, Any], media_type: str = "application/json") -> Response:
    from starlette.responses import Response

    return Response(json.dumps(body) + "\n", status_code=status, media_type=media_type)


async def _problem(request: Request, error: Exception) -> Response:
    from starlette.exceptions import HTTPException

    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    body = {"type": "about:blank", "title": status.phrase, "status": int(status), "instance": request.url.path}
    if status is HTTPStatus.NOT_FOUND:
        body["detail"] = "this port has /health/live, /health/ready, /metrics, /pipe/status and /api/v1/docs"
    response = _json(status, body, "application/problem+json")
    response.headers.update(error.headers or {})
    return response
