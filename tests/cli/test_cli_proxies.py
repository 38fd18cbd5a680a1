"""A proxy of the environment: a login that commands send within this machine never comes there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.support.broker_process import free_port

COMMANDS = {
    "security connections": "--url",
    "security token list": "--url",
    "registry list": "--registry",
    "pipe status": "--url",
}


class Proxy(ThreadingHTTPServer):
    """It keeps the first line of each request, and serves none."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        super().__init__(("127.0.0.1", 0), Refusal)


class Refusal(BaseHTTPRequestHandler):
    server: Proxy

    def do_GET(self) -> None:
        self.server.requests.append(self.requestline)
        self.send_error(502)

    def log_message(self, *_: object) -> None:
        """Write nothing to stderr."""


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.touch(0o600)
    path.write_text("sasl.username=admin\nsasl.password=secret\n")
    return path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("host", ["localhost", pytest.param("127.0.0.1", marks=pytest.mark.full)])
def test_a_login_within_this_machine_passes_no_proxy(
    alone: CommandLine, proxy: Proxy, properties: Path, command: str, host: str
) -> None:
    url = f"http://{host}:{free_port()}"
    environ = {"http_proxy": f"http://127.0.0.1:{proxy.server_port}", "no_proxy": "", "NO_PROXY": ""}
    told = alone(*command.split(), COMMANDS[command], url, "--command-config", properties, code=3, **environ).err
    assert "refused" in told
    assert proxy.requests == []


def test_another_machine_is_reached_through_the_proxy(alone: CommandLine, proxy: Proxy) -> None:
    environ = {"http_proxy": f"http://127.0.0.1:{proxy.server_port}", "no_proxy": "", "NO_PROXY": ""}
    alone("registry", "list", "--registry", "http://registry.invalid:8080", code=3, **environ)
    assert proxy.requests == ["GET http://registry.invalid:8080/registry/nodes HTTP/1.1"]
