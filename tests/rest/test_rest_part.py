"""The admin API as a part of the HTTP port: loaded by its first request, left out on request, refusing in one way."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rest.conftest import Rest
from tests.support.http_json import ask
from tests.support.penstock_process import PenstockProcess

pytestmark = pytest.mark.feature("K-18")


SCRIPT = """
import asyncio, sys, urllib.request
from pathlib import Path
from penstock.config.settings import Settings
from penstock.node.node import Node

async def main():
    ports = {"kafka": {"port": 0}, "push": {"port": 0}, "http": {"port": 0}}
    node = Node(Settings.model_validate({"node": {"data_dir": sys.argv[1]}, **ports}))
    await node.start()
    for path in ("/health/ready", "/api/v1/cluster"):
        with await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{node.http_port}{path}") as answer:
            print(answer.status, "fastapi" in sys.modules)
    await node.stop()

asyncio.run(main())
"""


def test_nothing_is_loaded_before_the_first_request(tmp_path: Path) -> None:
    run = [sys.executable, "-c", SCRIPT, str(tmp_path / "data")]
    told = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.splitlines() == ["200 False", "200 True"]


def test_it_can_be_left_out(tmp_path: Path) -> None:
    process = PenstockProcess(tmp_path, "http:\n  admin_api: false\n")
    process.prepare()
    process.start()
    try:
        for path in ("/api/v1/topics", "/api/v1/docs", "/api/v1/openapi.json"):
            assert ask(process.http_port, path).status == 404
    finally:
        process.stop()


@pytest.mark.parametrize(
    ("method", "path", "status", "error", "told"),
    [
        ("GET", "/nothing", 404, "RESOURCE_NOT_FOUND", "/api/v1/docs"),
        ("GET", "/topics/", 404, "RESOURCE_NOT_FOUND", "/api/v1/docs"),
        ("GET", "/topics/a/b/c", 404, "RESOURCE_NOT_FOUND", "/api/v1/docs"),
        ("PUT", "/topics", 405, "INVALID_REQUEST", "this path takes GET, POST"),
        ("POST", "/cluster", 405, "INVALID_REQUEST", "this path takes GET"),
        ("PATCH", "/groups/x/offsets", 405, "INVALID_REQUEST", "this path takes GET"),
        ("GET", "/topics/%FF", 400, "INVALID_REQUEST", "utf-8"),
        ("GET", "/topics/x/partitions/-1", 400, "INVALID_REQUEST", "partition"),
        ("GET", "/topics/x/partitions/one", 400, "INVALID_REQUEST", "partition"),
        ("GET", "/brokers/one", 400, "INVALID_REQUEST", "broker"),
        ("GET", "/topics?limit=1001", 400, "INVALID_REQUEST", "limit"),
        ("GET", "/topics?cursor=%00", 400, "INVALID_REQUEST", "cursor"),
        ("GET", "/topics?cursor=WzFd", 400, "INVALID_REQUEST", "next_cursor"),
        ("GET", "/cluster?verbose=1", 400, "INVALID_REQUEST", "this path takes none"),
        ("GET", f"/topics/{'x' * 300}", 400, "INVALID_REQUEST", "topic"),
    ],
)
def test_every_refusal_is_a_problem(rest: Rest, method: str, path: str, status: int, error: str, told: str) -> None:
    answer = rest(method, path)
    assert (answer.status, answer.body["error"]) == (status, error)
    assert told in answer.detail
    assert answer.body["instance"].startswith("/api/v1/")
    assert isinstance(answer.body["code"], int)


def test_only_json_is_looked_at(rest: Rest) -> None:
    """A page in a browser can send a form or a text to any address, but no JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        connection = http.client.HTTPConnection("127.0.0.1", rest.process.http_port, timeout=20)
        headers = {"Content-Type": kind} if kind else {}
        connection.request("POST", "/api/v1/topics", b'{"name": "from-a-browser"}', headers)
        response = connection.getresponse()
        assert response.status == 400
        assert b"Content-Type: application/json" in response.read()
        connection.close()
    assert rest("GET", "/topics/from-a-browser").status == 404
