"""Problem details (RFC 9457), without the web stack: for middleware that answers by itself."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, Final

PROBLEM_TYPE: Final = "application/problem+json"
Header = tuple[bytes, bytes]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def problem_body(status: HTTPStatus, detail: str, path: str, **more: str | int) -> str:
    body = {"type": "about:blank", "title": status.phrase, "status": int(status), "detail": detail, "instance": path}
    return json.dumps({**body, **more}) + "\n"


async def send_problem(
    send: Send, status: HTTPStatus, detail: str, path: str, more: Iterable[Header] = (), **fields: str | int
) -> None:
    """Answer an ASGI request with a problem; `more` are headers, and `fields` members, besides the usual ones."""
    body = problem_body(status, detail, path, **fields).encode()
    headers = [(b"content-type", PROBLEM_TYPE.encode()), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
