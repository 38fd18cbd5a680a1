"""The HTTP port of a node: /health/live, /health/ready, /metrics, and the routes of other parts.

`web_server` runs it in the broker's own event loop and loads the web stack in a thread: the Kafka door is open long
before. Anything that is not found or not allowed is answered as problem+json (RFC 9457).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from penstock.config.settings import Settings
from penstock.config.settings.security import named_addresses
from penstock.model.errors import KafkaError
from penstock.net.admission.door import Door
from penstock.net.http.allowed_hosts import AllowedHosts, host_of
from penstock.net.http.bounded import Bounded
from penstock.net.http.login.request_login import RequestLogin
from penstock.net.http.port import HttpPort
from penstock.net.http.session_gate import SessionGate, denied, is_stranger, session_of
from penstock.net.http.stall_watch import HttpTimes
from penstock.net.tls.server import Listening
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
SCRAPES_MAX = 8


class HttpServer:
    """Serves between `start` and `stop`. `logs`, `lags` and `clients` are asked for at every scrape.

    Other parts contribute functions that return their routes. They are called once, in the thread that loads
    the web stack, so that they may import it.
    """

    def __init__(
        self,
        port: HttpPort,
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
        self._login = port.login
        self._metrics = metrics
        self._health = health
        self._logs = logs
        self._lags = lags
        self._clients = clients
        self._parts = tuple(parts)
        self._server = WebServer(port, self._application)
        self.port = self._server.port
        self.connections = self._server.connections

    async def start(self) -> None:
        """Start the HTTP server. A second call does nothing."""
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()

    def _application(self) -> Starlette:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route, request_response

        routes = [
            Route("/health/live", self._live),
            Route("/health/ready", self._ready),
            Route("/metrics", Bounded(request_response(self._page), SCRAPES_MAX, "scrapes"), methods=["GET"]),
            *(route for part in self._parts for route in part()),
        ]
        app = Starlette(routes=routes, exception_handlers={HTTPException: _problem, KafkaError: denied})
        app.add_middleware(SessionGate, access=self._access, login=self._login)
        return app

    async def _live(self, _: Request) -> Response:
        return _json(HTTPStatus.OK, {"status": "live"})

    async def _ready(self, request: Request) -> Response:
        """The status for everybody, the details for sessions that may describe the cluster."""
        report = self._health.report()
        status = HTTPStatus.OK if report.ready else HTTPStatus.SERVICE_UNAVAILABLE
        shows = not is_stranger(request) and self._access.shows_cluster(session_of(request), Operation.DESCRIBE)
        details = asdict(report) if shows else {}
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


def http_port(settings: Settings, listening: Listening, admission: Door, login: RequestLogin | None = None) -> HttpPort:
    return HttpPort(
        listening=listening,
        admission=admission,
        hosts=AllowedHosts.of(*settings.http.allowed_hosts, *_own_names(settings)),
        times=http_times(settings),
        login=login,
    )


def http_times(settings: Settings) -> HttpTimes:
    http = settings.http
    return HttpTimes(
        header_s=http.header_timeout_ms / 1000,
        idle_s=http.idle_timeout_ms / 1000,
        stall_s=http.stall_timeout_ms / 1000,
    )


def _own_names(settings: Settings) -> Iterator[str | None]:
    """The names at which the node listens, and those that it gives to clients."""
    yield settings.http.host
    yield host_of(settings.registry.advertised_url)
    if settings.kafka.advertised_address is not None:
        yield settings.kafka.advertised_address[0]
    for addresses in (settings.listeners.addresses, settings.listeners.advertised):
        if addresses is not None:
            yield from (named.host for named in named_addresses(addresses))


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
    elif error.detail != status.phrase:
        body["detail"] = error.detail
    response = _json(status, body, "application/problem+json")
    response.headers.update(error.headers or {})
    return response
