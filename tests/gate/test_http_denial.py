"""A right that is denied stops the request: every route of node, registry and edge, right by right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.consumers.metrics import ConsumerMetrics
from penstock.edge.http.api import edge_app
from penstock.node.consumers.metrics_port import metrics_site
from penstock.runtime.clock import SystemClock
from penstock.topology.registry.service import RegistryService
from penstock.topology.registry.site import registry_site
from penstock.topology.registry.store import RegistryStore
from tests.gate.denials import EDGE_HIDES, NODE_HIDES, RECORD, REGISTRY_HIDES, Hidden, denials
from tests.gate.http_routes import ask, exchange
from tests.gate.plants import ignore_refusals
from tests.gate.recorder import Recorder
from tests.gate.rights import CONSUMERS, EDGE, NODE, REGISTRY
from tests.gate.test_http_gate import BODIES, FIRST, Table, Told, prepared_node, requests
from tests.gate.world import TOPIC
from tests.support.edge_store import opened


class Door:
    """An HTTP application and the state behind it."""

    def __init__(self, app: Any, recorder: Recorder, bodies: dict[str, Any], state: Callable[[], object]) -> None:
        self._app = app
        self._recorder = recorder
        self._bodies = bodies
        self._state = state

    async def wrong(self, table: Table, hidden: Hidden) -> dict[str, object]:
        """Routes that were not stopped without one of their rights, or that are stopped with all of them."""
        found: dict[str, object] = {}
        for route, method, path in requests(table):
            for right in sorted(table[route]):
                before = self._state()
                self._recorder.denied = denials(route, right)
                status, body = await exchange(self._app, method, path, self._bodies.get(route))
                self._recorder.denied = set()
                secret = hidden.get((route, right))
                is_stopped = status == 403 if secret is None else status == 200 and secret not in body
                if not is_stopped or self._state() != before:
                    found[f"{route} {right[0].name} {right[1].name}"] = status, body
                if secret is not None and secret not in await self._body(route, method, path):
                    found[f"{route}, allowed"] = f"{secret!r} is not there"
            if route in FIRST:
                await ask(self._app, method, path, self._bodies.get(route))
        for route, method, path in requests(table):
            status = await ask(self._app, method, path, self._bodies.get(route))
            if status in (401, 403):
                found[f"{route}, allowed"] = status
        return found

    async def _body(self, route: str, method: str, path: str) -> bytes:
        return (await exchange(self._app, method, path, self._bodies.get(route)))[1]


async def wrong_in_node(data_dir: Path) -> dict[str, object]:
    recorder = Recorder()
    async with prepared_node(data_dir, recorder) as (node, app, bodies):
        assert await ask(app, "POST", f"/api/v1/topics/{TOPIC}/messages", {"value": RECORD.decode()}) < 300
        assert await ask(app, "POST", "/api/v1/security/tokens", {"name": "x", "principal": "User:dora"}) < 300
        return await Door(app, recorder, bodies, node.snapshot).wrong(NODE, NODE_HIDES)


def test_every_route_of_a_node_is_stopped_without_a_right(tmp_path: Path) -> None:
    assert asyncio.run(wrong_in_node(tmp_path / "data")) == {}


def test_every_route_of_a_registry_is_stopped_without_a_right(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder = Recorder()
        store = RegistryStore(tmp_path)
        app = registry_site(RegistryService(store, SystemClock()), recorder.access)
        door = Door(app, recorder, BODIES, lambda: (store.version, store.members()))
        assert await door.wrong(REGISTRY, REGISTRY_HIDES) == {}
        store.close()

    asyncio.run(scenario())


class Asked(Told):
    """An edge that counts how often it was asked for a refresh."""

    def __init__(self) -> None:
        self.refreshes = 0

    def ask_refresh(self) -> str:
        self.refreshes += 1
        return super().ask_refresh()


def test_every_route_of_an_edge_is_stopped_without_a_right(tmp_path: Path) -> None:
    async def scenario() -> None:
        recorder, service = Recorder(), Asked()
        async with opened(tmp_path / "edge") as store:
            app = edge_app(store, service, recorder.access)
            assert await Door(app, recorder, {}, lambda: service.refreshes).wrong(EDGE, EDGE_HIDES) == {}
        assert service.refreshes == 1

    asyncio.run(scenario())


def test_every_route_of_consumers_on_their_own_is_stopped_without_a_right() -> None:
    async def scenario() -> None:
        recorder = Recorder()
        app = metrics_site(ConsumerMetrics(), recorder.access)
        assert await Door(app, recorder, {}, lambda: None).wrong(CONSUMERS, {}) == {}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("module", "unstopped"),
    [
        ("penstock.broker.operations.topics", "POST /api/v1/topics/{topic}/partitions ALTER TOPIC"),
        ("penstock.node.rest.groups", "DELETE /api/v1/groups/{group} DELETE GROUP"),
        ("penstock.topology.pipe.server_routes", "POST /pipe/reset ALTER CLUSTER"),
    ],
)
def test_a_refusal_that_is_ignored_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, unstopped: str
) -> None:
    ignore_refusals(monkeypatch, module)
    assert unstopped in asyncio.run(wrong_in_node(tmp_path / "data"))
