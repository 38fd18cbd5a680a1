"""The description of an HTTP application: made once, in a thread, and as FastAPI would send it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from penstock.net.http import server
from penstock.net.http.api_page import page
from penstock.net.http.server import WebApplication
from tests.gate.http_routes import exchange

pytestmark = pytest.mark.feature("F-06")

DOCUMENT = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text())
REQUESTS = 100
SECONDS_MAX = 0.04
"""Of the loop for as many requests, ten times what they take; to encode the document for each takes twice that."""


class Application(WebApplication):
    """As large as the admin API."""

    def openapi(self) -> dict[str, Any]:
        return dict(DOCUMENT)


def asked(app: Any, path: str) -> bytes:
    status, body = asyncio.run(exchange(app, "GET", path))
    assert status == 200
    return body


@pytest.mark.parametrize("options", [{}, {"root_path_in_servers": False}, {"servers": [{"url": "/elsewhere"}]}])
def test_it_is_what_fastapi_sends(options: dict[str, Any]) -> None:
    def application(kind: type[FastAPI]) -> Starlette:
        app = kind(title="Things", **options)

        @app.get("/things/{name}")
        def thing(name: str) -> str:
            """Réponse."""
            return name

        return Starlette(routes=[Mount("/api", app)])

    assert asked(application(WebApplication), "/api/openapi.json") == asked(application(FastAPI), "/api/openapi.json")
    assert b"<code>/api/things/{name}</code>" in asked(application(WebApplication), "/api/docs")


def test_it_is_made_once_and_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    made_by: list[threading.Thread] = []

    def counted(*args: Any, **options: Any) -> str:
        made_by.append(threading.current_thread())
        return page(*args, **options)

    monkeypatch.setattr(server, "page", counted)
    app = Application()

    async def scenario() -> None:
        answers = await asyncio.gather(*(exchange(app, "GET", path) for path in ("/docs", "/openapi.json") * 20))
        assert len(set(answers)) == 2

    asyncio.run(scenario())
    assert len(made_by) == 1
    assert made_by[0] is not threading.main_thread()


def test_a_request_takes_the_loop_for_no_longer_than_others() -> None:
    """The time on a processor counts: a busy machine changes nothing."""

    async def seconds() -> float:
        app = Application()
        began = time.thread_time()
        for _ in range(REQUESTS):
            await exchange(app, "GET", "/openapi.json")
        return time.thread_time() - began

    assert asyncio.run(seconds()) < SECONDS_MAX
