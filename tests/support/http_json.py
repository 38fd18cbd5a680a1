"""A request for JSON to an HTTP port: status, body and headers, whatever the status is."""

from __future__ import annotations

import http.client
import json
from typing import Any, NamedTuple


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def detail(self) -> str:
        """The detail of a problem."""
        assert self.headers["content-type"] == "application/problem+json", self
        assert self.body["status"] == self.status
        return str(self.body["detail"])


def ask(port: int, path: str, method: str = "GET", body: Any = None, *, timeout_s: float = 10) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read()
        headers = {name.lower(): value for name, value in response.getheaders()}
        is_json = "json" in headers.get("content-type", "")
        return Answer(response.status, json.loads(data) if is_json and data else data.decode(), headers)
    finally:
        connection.close()
