"""The port of a registry that runs on its own: /registry, /health and /metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, request_response

from penstock.model.errors import KafkaError
from penstock.net.http.bounded import Bounded
from penstock.net.http.login.request_login import RequestLogin
from penstock.net.http.server import problem
from penstock.net.http.session_gate import SessionGate, denied_by_file, is_stranger, session_of
from penstock.observability.exposition import CONTENT_TYPE
from penstock.observability.metrics import Probe
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.topology.registry.api import PREFIX, registry_app
from penstock.topology.registry.probe import RegistryProbe
from penstock.topology.registry.service import RegistryService

SCRAPES_MAX = 8


def _nothing() -> list[str]:
    return []


def registry_site(
    service: RegistryService,
    access: Access,
    login: RequestLogin | None = None,
    *,
    warnings: Callable[[], list[str]] = _nothing,
    probes: Iterable[Probe] = (),
) -> Starlette:
    """`login` says who asks; `warnings` are for the health report, `probes` for the metrics page."""
    metrics = CollectorRegistry(auto_describe=False)
    metrics.register(_Families([RegistryProbe(service), *probes]))

    async def health(request: Request) -> Response:
        """The status for every session, the details for those that may describe the cluster."""
        members = service.hierarchy.members.values()
        body: dict[str, object] = {"status": "ready" if service.problem is None else "not ready"}
        if not is_stranger(request) and access.shows_cluster(session_of(request), Operation.DESCRIBE):
            body["problems"] = {"disk": service.problem} if service.problem is not None else {}
            body["warnings"] = warnings()
            body["nodes"] = len(members)
            body["live"] = sum(member.live for member in members)
        status = HTTPStatus.OK if service.problem is None else HTTPStatus.SERVICE_UNAVAILABLE
        return Response(json.dumps(body) + "\n", status_code=status, media_type="application/json")

    async def live(_: Request) -> Response:
        return Response('{"status": "live"}\n', media_type="application/json")

    async def page(request: Request) -> Response:
        access.check_cluster(session_of(request), Operation.DESCRIBE)
        return Response(generate_latest(metrics), media_type=CONTENT_TYPE)

    app = Starlette(
        routes=[
            Route("/health", health),
            Route("/health/ready", health),
            Route("/health/live", live),
            Route("/metrics", Bounded(request_response(page), SCRAPES_MAX, "scrapes"), methods=["GET"]),
            Mount(PREFIX, registry_app(service, access)),
        ],
        exception_handlers={HTTPException: _not_here, KafkaError: denied_by_file},
    )
    app.add_middleware(SessionGate, access=access, login=login)
    return app


async def _not_here(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "this port has /registry/nodes, /registry/docs, /health and /metrics"
    return problem(HTTPStatus(error.status_code), detail, request.url.path)


class _Families(Collector):
    """Collector interface of prometheus-client."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self._probes = probes

    def collect(self) -> list[Metric]:
        return [family for probe in self._probes for family in probe.families()]
