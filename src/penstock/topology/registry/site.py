"""The registry's port when nothing else is on it: /registry, /health and /metrics."""

from __future__ import annotations

import json
from http import HTTPStatus

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from penstock.net.http.server import problem
from penstock.observability.exposition import CONTENT_TYPE
from penstock.topology.registry.api import PREFIX, registry_app
from penstock.topology.registry.probe import RegistryProbe
from penstock.topology.registry.service import RegistryService


def registry_site(service: RegistryService) -> Starlette:
    metrics = CollectorRegistry(auto_describe=False)
    metrics.register(_Families(RegistryProbe(service)))

    async def health(_: Request) -> Response:
        members = service.hierarchy.members.values()
        body = {
            "status": "ready" if service.problem is None else "not ready",
            "problems": {"disk": service.problem} if service.problem is not None else {},
            "nodes": len(members),
            "live": sum(member.live for member in members),
        }
        status = HTTPStatus.OK if service.problem is None else HTTPStatus.SERVICE_UNAVAILABLE
        return Response(json.dumps(body) + "\n", status_code=status, media_type="application/json")

    async def live(_: Request) -> Response:
        return Response('{"status": "live"}\n', media_type="application/json")

    async def page(_: Request) -> Response:
        return Response(generate_latest(metrics), media_type=CONTENT_TYPE)

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/health/ready", health),
            Route("/health/live", live),
            Route("/metrics", page),
            Mount(PREFIX, registry_app(service)),
        ],
        exception_handlers={HTTPException: _not_here},
    )


async def _not_here(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "this port has /registry/nodes, /registry/docs, /health and /metrics"
    return problem(HTTPStatus(error.status_code), detail, request.url.path)


class _Families(Collector):
    """prometheus-client's way in."""

    def __init__(self, probe: RegistryProbe) -> None:
        self._probe = probe

    def collect(self) -> list[Metric]:
        return list(self._probe.families())
