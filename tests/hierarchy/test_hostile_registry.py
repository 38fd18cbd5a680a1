"""A registry that means no good: no service of the child's machine is asked, and nobody is told its login."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.hierarchy import HierarchyNode
from tests.support.registry_process import all_running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-12")

REGISTRY = "registry:\n  url: {}\n  poll_interval_ms: 300\n"
PIPE = "pipe:\n  poll_interval_ms: 50\n  unhealthy_failures: 1\n"
LOGIN = "  username: shop-7\n  password: secret-word\n"


class Service(ThreadingHTTPServer):
    """An HTTP port that answers everything with `document`, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.document: dict[str, object] = {}
        self.version = 0
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def name_parent(self, url: str) -> None:
        """As the registry."""
        self.version += 1
        self.document = {"nodeId": "child", "role": "POS", "parentUrl": url, "version": self.version, "parents": []}


class Answers(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append(f"{self.requestline}\n{self.headers}")
        body = json.dumps(self.server.document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  the name that http.server looks for

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""


@contextmanager
def serving() -> Iterator[Service]:
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever)
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()


@pytest.fixture
def registry() -> Iterator[Service]:
    with serving() as service:
        yield service


@pytest.fixture
def inside() -> Iterator[Service]:
    """A service of the child's machine that has nothing to do with brokers."""
    with serving() as service:
        yield service


def refuses(child: HierarchyNode, parent: str, reason: str) -> None:
    """Check that the child has been told of the parent, and says why it does not ask it."""
    wait_until(lambda: child.pipe["parentUrl"] == parent, what=f"the child is told of {parent}")
    wait_until(lambda: child.pipe["failuresInARow"] > 2, what="it has tried again")
    assert reason in str(child.pipe["lastFailure"])
    assert child.get("/health/ready")["status"] == "ready"


def test_a_service_inside_the_machine_is_not_asked(tmp_path: Path, registry: Service, inside: Service) -> None:
    """The registry is reached at an address that is this machine's, and does not say so."""
    port = inside.server_port
    registry.name_parent(f"http://127.0.0.1:{port}/admin")
    config = REGISTRY.format(f"http://0.0.0.0:{registry.server_port}") + PIPE
    child = HierarchyNode(tmp_path / "child", config=config)
    with all_running(child):
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            registry.name_parent(f"http://{host}:{port}/admin")
            refuses(child, f"http://{host}:{port}/admin", "inside this machine")
            assert inside.requests == []


def test_a_registry_that_is_inside_the_machine_names_others_there(
    tmp_path: Path, registry: Service, inside: Service
) -> None:
    registry.name_parent(inside.url)
    child = HierarchyNode(tmp_path / "child", config=REGISTRY.format(registry.url) + PIPE)
    with all_running(child):
        wait_until(lambda: inside.requests, what="the parent is asked")
    assert inside.requests[0].startswith("GET /pipe/topics ")


@pytest.mark.parametrize("scheme", ["http", pytest.param("https", marks=pytest.mark.full)])
def test_nobody_is_told_the_login_without_an_authority(
    tmp_path: Path, registry: Service, inside: Service, scheme: str
) -> None:
    parent = f"{scheme}://localhost:{inside.server_port}"
    registry.name_parent(parent)
    child = HierarchyNode(tmp_path / "child", config=REGISTRY.format(registry.url) + PIPE + LOGIN)
    with all_running(child):
        refuses(child, parent, "pipe.ca_file")
        assert len([line for line in child.log_file.read_text().splitlines() if "pipe.ca_file" in line]) == 1
    assert inside.requests == []
    assert not [asked for asked in registry.requests if "Authorization" in asked]
