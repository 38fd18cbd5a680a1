"""One request over HTTP, whatever its status."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.message import Message
from typing import Any


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_problem(self) -> bool:
        return self.headers["Content-Type"] == "application/problem+json" and self.json["status"] == self.status


def ask(
    url: str, method: str = "GET", document: object = None, *, body: bytes | None = None, **headers: str
) -> HttpAnswer:
    """Send a request. `document` is sent as JSON, `body` as it is; an underscore in a header's name means a dash."""
    if document is not None:
        body = json.dumps(document).encode()
    request = urllib.request.Request(url, data=body, method=method)
    if body is not None:
        request.add_header("Content-Type", "application/json")
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return HttpAnswer(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return HttpAnswer(error.code, error.headers, error.read())
