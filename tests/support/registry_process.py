"""`penstock registry serve` as a process, and nodes that follow it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.broker_process import BrokerProcess
from tests.support.http_client import HttpAnswer, ask
from tests.support.penstock_process import PenstockProcess

POLL_INTERVAL_MS = 300


class RegistryProcess(BrokerProcess):
    """The registry; its `port` is the HTTP port."""

    kind = "registry"

    def __init__(self, directory: Path, *flags: str) -> None:
        super().__init__(directory)
        self._flags = flags

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def command(self) -> list[str]:
        flags = ["--data-dir", str(self.directory / "registry"), "--port", str(self.port), *self._flags]
        return [sys.executable, "-m", "penstock", "registry", "serve", *flags]

    def _ready(self) -> bool:
        assert self.running, "the registry has ended"
        try:
            return self.ask("GET", "/health/ready").status == 200
        except OSError:
            return False

    def ask(self, method: str, path: str, document: object = None, **more: Any) -> HttpAnswer:
        return ask(self.url + path, method, document, **more)

    def register(self, node_id: str, **more: Any) -> HttpAnswer:
        return self.ask("POST", "/registry/nodes", {"nodeId": node_id, **more})

    def poll(self, node_id: str, **headers: str) -> HttpAnswer:
        return self.ask("GET", f"/registry/nodes/{node_id}/topology", **headers)

    def node(self, node_id: str) -> Any:
        answer = self.ask("GET", f"/registry/nodes/{node_id}")
        return answer.json if answer.status == 200 else None


class FollowingProcess(PenstockProcess):
    """A broker that asks a registry often."""

    def __init__(
        self, directory: Path, node_id: str, registry_url: str, *, poll_interval_ms: int = POLL_INTERVAL_MS
    ) -> None:
        self.node_id = node_id
        config = f"node: {{id: {node_id}}}\nregistry: {{url: '{registry_url}', poll_interval_ms: {poll_interval_ms}}}\n"
        super().__init__(directory, config)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.http_port}"

    def health(self) -> Any:
        return ask(f"{self.url}/health/ready").json

    def place(self) -> str:
        """The line of the health report; empty while the node does not answer."""
        try:
            return str(self.health()["details"].get("topology", ""))
        except OSError:
            return ""


@contextmanager
def all_running(*processes: BrokerProcess) -> Iterator[None]:
    try:
        for process in processes:
            process.prepare()
            process.start()
        yield
    finally:
        for process in processes:
            if process.running:
                process.stop()
