"""Routes of an HTTP application, listed from the application itself, and requests to it without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Scope

from penstock.net.http.bounded import Bounded
from penstock.node.rest.part import LazyApplication


def routes(app: Any, prefix: str = "") -> Iterator[str]:
    """As "GET /path/{name}", those of mounted applications included."""
    for route in app.routes:
        yield from _routes(route, prefix)


def _routes(route: BaseRoute, prefix: str) -> Iterator[str]:
    if isinstance(route, Mount):
        mounted: Any = route.app
        if isinstance(mounted, Bounded):
            mounted = mounted.app
        if isinstance(mounted, LazyApplication):
            mounted = mounted._build()
        yield from routes(mounted, prefix + route.path)
    elif isinstance(route, Route):
        if "swagger" in route.name or "redoc" in route.name:
            return
        for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
            yield f"{method} {prefix}{route.path}"
    else:
        included = getattr(route, "original_router", None)  # a router that FastAPI includes without copying its routes
        assert included is not None, f"a kind of route that the tests of the gate do not know: {type(route)}"
        yield from routes(included, prefix)


Body = bytes | dict[str, Any] | None


async def ask(app: ASGIApp, method: str, path: str, body: Body = None) -> int:
    """The status of the answer."""
    return (await exchange(app, method, path, body))[0]


async def exchange(app: ASGIApp, method: str, path: str, body: Body = None) -> tuple[int, bytes]:
    """The status and the body of the answer."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    kind = b"application/octet-stream" if isinstance(body, bytes) else b"application/json"
    path, _, query = path.partition("?")
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(b"content-type", kind), (b"content-length", b"%d" % len(content))],
        "client": ("192.0.2.1", 50_000),
        "server": ("127.0.0.1", 8080),
    }
    received = [{"type": "http.request", "body": content, "more_body": False}]
    statuses: list[int] = []
    answer: list[bytes] = []

    async def receive() -> Message:
        if received:
            return received.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        else:
            answer.append(message.get("body", b""))

    await app(scope, receive, send)
    return statuses[0], b"".join(answer)
