"""The HTTP port over real sockets: health, metrics, problems."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from penstock.node.errors import StartError
from penstock.node.http import HttpServer
from penstock.node.web_server import bind
from penstock.observability.exposition import LagSample, LogSample
from penstock.observability.health import Health, Phase
from penstock.observability.metrics import BrokerMetrics
from penstock.security.access import Access
from tests.support.admission import http_port

Result = TypeVar("Result")


def fetch(port: int, path: str, method: str = "GET") -> tuple[int, str, bytes]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def serving(health: Health, visit: Callable[[int], Awaitable[Result]], **sources: Any) -> Result:
    async def run() -> Result:
        server = HttpServer(http_port(), access=Access(), metrics=BrokerMetrics({}), health=health, **sources)
        await server.start()
        try:
            return await visit(server.port)
        finally:
            await server.stop()

    return asyncio.run(run())


def get(health: Health, *paths: str, method: str = "GET", **sources: Any) -> list[tuple[int, str, bytes]]:
    async def visit(port: int) -> list[tuple[int, str, bytes]]:
        return [await asyncio.to_thread(fetch, port, path, method) for path in paths]

    return serving(health, visit, **sources)


def test_a_node_that_has_started_is_live_and_ready() -> None:
    health = Health()
    health.phase = Phase.RUNNING
    health.add_warning("damaged", lambda: "orders-0 is damaged")
    health.add_detail("topology", lambda: "ROOT")
    health.add_detail("nothing", lambda: None)
    live, ready = get(health, "/health/live", "/health/ready")
    assert (live[0], json.loads(live[2])) == (200, {"status": "live"})
    assert ready[0] == 200
    assert json.loads(ready[2])["warnings"] == {"damaged": "orders-0 is damaged"}
    assert json.loads(ready[2])["details"] == {"topology": "ROOT"}


@pytest.mark.feature("F-06")
def test_a_node_with_a_problem_says_which() -> None:
    health = Health()
    health.add_check("disk", lambda: "only 3 MiB are free")
    live, ready = get(health, "/health/live", "/health/ready")
    assert (live[0], ready[0]) == (200, 503)
    body = json.loads(ready[2])
    assert (body["ready"], body["phase"]) == (False, "starting")
    assert body["problems"] == {"phase": "the node is starting", "disk": "only 3 MiB are free"}


@pytest.mark.feature("P-16", "F-08")
def test_metrics_are_served_with_logs_and_lags() -> None:
    ((status, kind, page),) = get(
        Health(),
        "/metrics",
        logs=lambda: [LogSample("t", 0, 0, 3, 300, 1)],
        lags=lambda: [LagSample("g", "t", 0, 1, 2)],
    )
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert b'penstock_log_size_bytes{topic="t",partition="0"} 300\n' in page
    assert b'penstock_consumer_lag{group="g",topic="t",partition="0"} 2\n' in page


@pytest.mark.parametrize(("path", "method", "status"), [("/nothing", "GET", 404), ("/metrics", "POST", 405)])
def test_what_is_not_there_is_a_problem_document(path: str, method: str, status: int) -> None:
    ((answered, kind, body),) = get(Health(), path, method=method)
    assert (answered, kind) == (status, "application/problem+json")
    problem = json.loads(body)
    assert (problem["status"], problem["instance"]) == (status, path)


def test_a_port_in_use_is_a_start_error_that_names_the_remedy() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(StartError, match="--http-port"):
        bind("127.0.0.1", taken.getsockname()[1])


def test_an_unusable_address_is_a_start_error() -> None:
    with pytest.raises(StartError, match=r"http\.host"):
        bind("host.invalid", 0)
