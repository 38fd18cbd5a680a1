"""Every route of every HTTP port passes the gate: node, registry, edge, consumers, with everything mounted there."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.consumers.metrics import ConsumerMetrics
from penstock.edge.http.api import edge_app
from penstock.edge.http.bodies import HealthBody, StatsBody
from penstock.node.consumers.metrics_port import metrics_site
from penstock.protocol.push.values import Start
from penstock.runtime.clock import SystemClock
from penstock.security.authenticator import AuthenticationFailed, Credentials
from penstock.security.session import Session
from penstock.topology.pipe.wire import PullRequest, Wanted, encode_request
from penstock.topology.registry.service import RegistryService
from penstock.topology.registry.site import registry_site
from penstock.topology.registry.store import RegistryStore
from tests.gate.http_routes import ask, routes
from tests.gate.recorder import Asked, Recorder
from tests.gate.rights import CONSUMERS, EDGE, NODE, NOTHING, REGISTRY
from tests.gate.world import SUBSCRIPTION, TOPIC, TRANSACTIONAL_ID, GateNode, KafkaClient, running_node
from tests.support.edge_store import opened

Table = dict[str, set[Asked]]
NAMES = {
    "{topic}": TOPIC,
    "{partition}": "0",
    "{broker}": "1",
    "{group}": SUBSCRIPTION,
    "{name}": SUBSCRIPTION,
    "{transactional_id}": TRANSACTIONAL_ID,
    "{nodeId}": "root-1",
    "{token}": "0123456789abcdef",
}
BODIES: dict[str, Any] = {
    "POST /test/load-from-sqlite": {"topic": TOPIC, "file": "rows.db", "table": "rows"},
    "POST /test/inject-messages": {"topic": TOPIC, "messages": [{"body": "x"}]},
    "POST /api/v1/topics": {"name": "new"},
    "POST /api/v1/topics/{topic}/partitions": {"count": 2},
    "PATCH /api/v1/topics/{topic}/configs": {"set": {"retention.ms": "1000000"}},
    "PATCH /api/v1/brokers/{broker}/configs": {"set": {"log.retention.ms": "1000000"}},
    "PATCH /api/v1/cluster/configs": {"set": {"log.retention.ms": "1000000"}},
    "POST /api/v1/topics/{topic}/messages": {"value": "x"},
    "POST /api/v1/groups/{group}/offsets/reset": {"to": "earliest", "topics": [{"topic": TOPIC}]},
    "POST /api/v1/transactions/{transactional_id}/abort": {"producer_id": 1, "producer_epoch": 0},
    "POST /api/v1/hanging-transactions/abort": {"topic": TOPIC, "partition": 0, "producer_id": 1},
    "POST /api/v1/security/disconnect": {"principal": "User:carl"},
    "POST /api/v1/security/tokens": {"name": "backup", "principal": "User:carl"},
    "POST /registry/nodes": {"nodeId": "root-1", "role": "ROOT", "url": "http://127.0.0.1:1"},
    "PUT /registry/nodes/{nodeId}/parent": {"parentId": None},
}
LAST = ("DELETE /api/v1/topics/{topic}", "DELETE /api/v1/groups/{group}", "DELETE /registry/nodes/{nodeId}")
FIRST = ("POST /registry/nodes",)


def requests(table: Table) -> Iterator[tuple[str, str, str]]:
    """Every route with its method and a path, in an order in which each finds what it needs."""
    for route in sorted(table, key=lambda route: (route in LAST, route not in FIRST, route)):
        method, _, path = route.partition(" ")
        for name, value in NAMES.items():
            path = path.replace(name, value)
        yield route, method, path


async def wrong(app: Any, recorder: Recorder, table: Table, bodies: dict[str, Any]) -> dict[str, object]:
    """Routes that were not admitted, or did not ask for exactly what the table says."""
    found: dict[str, object] = {}
    for route, method, path in requests(table):
        recorder.take()
        status = await ask(app, method, path, bodies.get(route))
        admitted, asked = recorder.take()
        if not (admitted == [f"{method} {path}"] and asked == table[route] and status < 500):
            found[route] = status, admitted, asked
    return found


def pull(topic_id: bytes) -> bytes:
    return encode_request(PullRequest(-1, 0, 1 << 20, 10, [Wanted(topic_id, 0, 0, 0)]))


@contextlib.asynccontextmanager
async def prepared_node(data_dir: Path, recorder: Recorder) -> AsyncIterator[tuple[GateNode, Any, dict[str, Any]]]:
    """A node that has everything that a path or a body names; its HTTP application, and the bodies."""
    with sqlite3.connect(data_dir.parent / "rows.db") as database:
        database.execute("CREATE TABLE rows (name TEXT)")
        database.execute("INSERT INTO rows VALUES ('x')")
    async with running_node(data_dir, recorder) as node:
        client = await KafkaClient.connect(node.kafka_port)
        await client.ask("create_topics", 7, topics=[{"name": TOPIC, "num_partitions": 1, "replication_factor": 1}])
        await client.ask("init_producer_id", 5, transactional_id=TRANSACTIONAL_ID, transaction_timeout=60_000)
        client.close()
        assert node._push is not None
        assert node._http is not None
        await node._push.subscriptions.create(SUBSCRIPTION, TOPIC, Start(), by_key=False, owner="")
        topic = node.pipe.pipe.backend.topics.get(TOPIC)
        assert topic is not None
        yield node, node._http._application(), BODIES | {"POST /pipe/records": pull(topic.topic_id.bytes)}


async def check_node(data_dir: Path) -> None:
    recorder = Recorder()
    async with prepared_node(data_dir, recorder) as (_, app, bodies):
        assert sorted(routes(app)) == sorted(NODE)
        assert await wrong(app, recorder, NODE, bodies) == {}
        assert {session.listener for session in recorder.authenticated[-3:]} == {"HTTP"}


def test_every_route_of_a_node(tmp_path: Path) -> None:
    asyncio.run(check_node(tmp_path / "data"))


def test_every_route_of_a_registry(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        store = RegistryStore(tmp_path)
        app = registry_site(RegistryService(store, SystemClock()), recorder.access)
        assert sorted(routes(app)) == sorted(REGISTRY)
        assert await wrong(app, recorder, REGISTRY, BODIES) == {}
        store.close()

    asyncio.run(scenario())


class Told:
    """The rest of an edge application."""

    def stats(self) -> StatsBody:
        return StatsBody.model_construct()

    def health(self) -> HealthBody:
        return HealthBody(
            status="ready", live=True, ready=True, connected=True, broker="b:1", feed="", last_message=None, problems=[]
        )

    def ask_refresh(self) -> str:
        return "asked"

    def metrics(self) -> bytes:
        return b""


def test_every_route_of_an_edge(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        async with opened(tmp_path / "edge") as store:
            app = edge_app(store, Told(), recorder.access)
            assert sorted(routes(app)) == sorted(EDGE)
            assert await wrong(app, recorder, EDGE, {}) == {}

    asyncio.run(scenario())


def test_every_route_of_consumers_on_their_own() -> None:
    async def scenario() -> None:
        recorder = Recorder()
        app = metrics_site(ConsumerMetrics(), recorder.access)
        assert sorted(routes(app)) == sorted(CONSUMERS)
        assert await wrong(app, recorder, CONSUMERS, {}) == {}

    asyncio.run(scenario())


def test_a_route_that_is_added_without_a_right_is_found(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        store = RegistryStore(tmp_path)
        app = registry_site(RegistryService(store, SystemClock()), recorder.access)

        async def careless(_: Request) -> Response:
            return Response()

        app.routes.append(Route("/new", careless))
        assert set(routes(app)) - set(REGISTRY) == {"GET /new"}
        table: Table = {"GET /new": {next(iter(REGISTRY["GET /metrics"]))}}
        assert list(await wrong(app, recorder, table, {})) == ["GET /new"]
        store.close()

    asyncio.run(scenario())


def test_a_request_that_is_not_let_in_reaches_no_route(tmp_path: Path) -> None:
    class Stranger(Recorder):
        def authenticate(self, session: Session, credentials: Credentials) -> Session:
            raise AuthenticationFailed("log in first")

    async def scenario() -> None:
        recorder = Stranger()
        store = RegistryStore(tmp_path)
        app = registry_site(RegistryService(store, SystemClock()), recorder.access)
        assert [await ask(app, "GET", path) for path in ("/registry/nodes", "/metrics", "/nothing")] == [401] * 3
        assert recorder.take() == ([], NOTHING)
        store.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("path", ["/registry/nodes", "/metrics"])
def test_a_session_without_the_right_is_refused(tmp_path: Path, path: str) -> None:
    class Strict(Recorder):
        def allows(self, *asked: Any) -> bool:
            return False

    async def scenario() -> None:
        store = RegistryStore(tmp_path)
        app = registry_site(RegistryService(store, SystemClock()), Strict().access)
        assert await ask(app, "GET", path) == 403
        assert await ask(app, "GET", "/health/ready") == 200
        store.close()

    asyncio.run(scenario())
