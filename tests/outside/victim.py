"""A node with something to read and something to change, asked by one who may."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from penstock.protocol.push.messages import CreateSubscription
from penstock.protocol.push.values import Start
from tests.gate.rights import NODE
from tests.gate.test_http_gate import BODIES, pull, requests
from tests.gate.world import SUBSCRIPTION, TOPIC, TRANSACTIONAL_ID
from tests.support import batches
from tests.support.push_client import PushClient
from tests.support.raw_client import RawClient
from tests.web_login.secured import WebClient, WebProcess, login_of

SECRET = "nobody-else-may-read-this"
READS_ONLY = ("POST /pipe/records",)
PASSING = ("/metrics", "/health/", "/api/v1/session", "/api/v1/security/connections", "/docs", "/openapi.json")
"""Pages that change by themselves, or say nothing of what the node holds."""


class Victim:
    """`protocol` is that of the HTTP port: PLAINTEXT, where everybody may everything, or SASL_SSL."""

    def __init__(self, directory: Path, protocol: str) -> None:
        files = directory / "files"
        files.mkdir()
        self.node = WebProcess(directory, protocol, http={"test_endpoints": True, "test_data_dir": str(files)})
        self.login = login_of("admin") if protocol == "SASL_SSL" else None
        self._bodies: dict[str, Any] = dict(BODIES)
        with sqlite3.connect(files / "rows.db") as database:
            database.execute("CREATE TABLE rows (name TEXT)")
            database.execute("INSERT INTO rows VALUES ('x')")

    @property
    def origin(self) -> str:
        scheme = "https" if self.login else "http"
        return f"{scheme}://127.0.0.1:{self.node.http_port}"

    def start(self) -> None:
        self.node.prepare()
        self.node.start()
        with RawClient(self.node.host, self.node.port) as client:
            client.create_topic(TOPIC)
            client.appended(TOPIC, batches.values(SECRET))
            client.call("init_producer_id", 5, transactional_id=TRANSACTIONAL_ID, transaction_timeout=60_000)
            self._bodies["POST /pipe/records"] = pull(client.topic_id(TOPIC).bytes).decode("latin-1")
        with PushClient(self.node.push_port) as push:
            push.ask(CreateSubscription(SUBSCRIPTION, TOPIC, Start()))

    @property
    def pages(self) -> list[str]:
        """Everything that can be read."""
        return [path for _, method, path in requests(NODE) if method == "GET"]

    @property
    def acts(self) -> list[tuple[str, str, str]]:
        """Everything that can be changed: method, path and body."""
        found = []
        for route, method, path in requests(NODE):
            if method != "GET":
                body = self._bodies.get(route, "")
                found.append((method, path, body if isinstance(body, str) else json.dumps(body)))
        return found

    def state(self) -> dict[str, object]:
        """What all pages say that stay the same while nobody changes anything."""
        client = self.node.client()
        try:
            return {
                path: client.ask(path, self.login).json
                for path in self.pages
                if not any(part in path for part in PASSING)
            }
        finally:
            client.close()

    def do_honestly(self) -> dict[str, int]:
        """The same acts by one who may: the status of each."""
        client = self.node.client()
        try:
            return {f"{method} {path}": self._do(client, method, path, body) for method, path, body in self.acts}
        finally:
            client.close()

    def _do(self, client: WebClient, method: str, path: str, body: str) -> int:
        document = json.loads(body) if body.startswith("{") else None
        return client.ask(path, self.login, method=method, body=document).status
