"""The metrics of consumers that run as a process of their own: one page, on a port of this machine.

The port is guarded and bounded as every HTTP port is: hosts, times, connections, scrapes. It has no login and no TLS,
and is never open to other machines.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from socket import socket
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, generate_latest

from penstock.consumers.metrics import ConsumerMetrics
from penstock.model.errors import KafkaError
from penstock.model.limits import METRICS_CONNECTIONS_MAX
from penstock.net.http.allowed_hosts import AllowedHosts
from penstock.net.http.bounded import Bounded
from penstock.net.http.port import HttpPort
from penstock.net.http.session_gate import SessionGate, denied, session_of
from penstock.node.admission import lone_http_door
from penstock.node.web_server import WebServer, bind
from penstock.observability.exposition import CONTENT_TYPE
from penstock.security.access import Access
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST: Final = "127.0.0.1"
SCRAPES_MAX: Final = 8


def bind_metrics(port: int) -> socket:
    """The port, bound and not served yet. StartError if it is in use."""
    return bind(HOST, port, "--metrics-port")


@asynccontextmanager
async def serving_metrics(metrics: ConsumerMetrics, listening: socket) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        stack.callback(listening.close)
        door = await lone_http_door(stack, connections_max=METRICS_CONNECTIONS_MAX)
        port = HttpPort(listening=listening, admission=door, hosts=AllowedHosts.of(setting=None))
        server = WebServer(port, lambda: metrics_site(metrics, Access()))
        stack.push_async_callback(server.stop)
        await server.start()
        yield


def metrics_site(metrics: ConsumerMetrics, access: Access) -> Starlette:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import Response
    from starlette.routing import Route, request_response

    from penstock.net.http.server import problem

    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)

    async def page(request: Request) -> Response:
        access.check_cluster(session_of(request), Operation.DESCRIBE)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        status = HTTPStatus(error.status_code)
        detail = "this port has /metrics" if status is HTTPStatus.NOT_FOUND else error.detail
        answer = problem(status, detail, request.url.path)
        answer.headers.update(error.headers or {})
        return answer

    route = Route("/metrics", Bounded(request_response(page), SCRAPES_MAX, "scrapes"), methods=["GET"])
    app = Starlette(routes=[route], exception_handlers={HTTPException: refused, KafkaError: denied})
    app.add_middleware(SessionGate, access=access)
    return app
