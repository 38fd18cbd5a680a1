"""The admin API as a part of the HTTP port. Its libraries are loaded by its first request, in a thread.

A node that is not administered over HTTP pays nothing for it: neither at its start nor in memory.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.net.http.bounded import Bounded
from penstock.net.http.login.web_sessions import WebSessions
from penstock.net.open_connections import OpenConnections
from penstock.node.http import HttpPart

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX = "/api/v1"
REQUESTS_MAX = 256
"""At a time: an answer has up to half a megabyte, and clients may be slow to read it."""


def admin_api(
    broker: Broker,
    subscriptions: Subscriptions | None,
    kafka_port: Callable[[], int],
    sessions: WebSessions | None,
    connections: OpenConnections,
) -> Iterable[HttpPart]:
    """The routes; none if the settings disable them."""
    if not broker.settings.http.admin_api:
        return

    def build() -> ASGIApp:
        from penstock.node.rest.application import application

        return application(broker, subscriptions, kafka_port, sessions, connections)

    def routes() -> Iterable[BaseRoute]:
        from starlette.routing import Mount

        mount = Mount(PREFIX, Bounded(LazyApplication(build), REQUESTS_MAX, "requests"))
        mount.path_regex = re.compile(mount.path_regex.pattern, re.DOTALL)  # a group may have a line feed in its name
        return [mount]

    yield routes


class LazyApplication:
    """Built in a thread by the first request; those that come meanwhile wait for it.

    Paths are passed on as they were sent, so that a name may have a slash in it: as %2F.
    """

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = build
        self._application: ASGIApp | None = None
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._application is None:
            async with self._lock:
                if self._application is None:
                    self._application = await asyncio.to_thread(self._build)
        if raw_path := scope.get("raw_path"):
            scope = {**scope, "path": raw_path.decode("latin-1")}
        await self._application(scope, receive, send)
