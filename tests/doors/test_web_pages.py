"""Requests that a browser sends for a page of somebody else, to every HTTP application: nothing is read or changed.

The page has its own name rebound to this machine (`Host`), or it asks across origins (`Origin`, `Sec-Fetch-Site`).
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.edge_process import EdgeProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.registry_process import RegistryProcess, all_running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-06")

CONFIG = """\
http: {allowed_hosts: [broker.example]}
kafka: {advertised: 'advertised.example:9092'}
registry: {advertised_url: 'http://parent.example:8080'}
"""
SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


HIDDEN = ["[::1].evil.example", "127.0.0.1?.evil.example", "localhost#.evil.example", "localhost\\.evil.example"]
"""Names that begin with an allowed one for whoever reads them as a part of a URL."""


class Application(NamedTuple):
    port: int
    page: str
    """Something to read."""
    act: tuple[str, str]
    """Something to change, without a body: the method and the path."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path_factory.mktemp("node"), CONFIG)
    with all_running(process):
        with RawClient(process.host, process.port) as client:
            client.create_topic("price-topic")
        yield process


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    process = RegistryProcess(tmp_path_factory.mktemp("registry"), "--allowed-host", "broker.example")
    with all_running(process):
        yield process


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory, node: PenstockProcess) -> Iterator[EdgeProcess]:
    directory: Path = tmp_path_factory.mktemp("edge")
    process = EdgeProcess(directory, node.push_port, CONSUMER_ALLOWED_HOSTS="broker.example")
    with all_running(process):
        yield process


@pytest.fixture(scope="module", params=["node", "registry", "edge"])
def app(request: pytest.FixtureRequest) -> Application:
    process = request.getfixturevalue(request.param)
    match process:
        case RegistryProcess():
            found = Application(process.port, "/registry/docs", ("DELETE", "/registry/nodes/nobody"))
        case EdgeProcess():
            found = Application(process.http_port, "/docs", ("POST", "/refresh"))
        case _:
            found = Application(process.http_port, "/api/v1/docs", ("POST", "/pipe/reset"))
    wait_until(lambda: is_open(found.port), what="the HTTP port is open")
    return found


def is_open(port: int) -> bool:
    try:
        return ask(port, "GET", "/health/live").status < 500
    except OSError:
        return False


def ask(port: int, method: str, path: str, **headers: str | None) -> Answer:
    """One request with exactly these headers, and the usual `Host` unless one is given; None leaves it out."""
    given = {"Host": f"localhost:{port}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        if method not in ("GET", "HEAD", "OPTIONS"):
            connection.putheader("Content-Length", "0")
        connection.endheaders()
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def is_problem(answer: Answer, status: int) -> bool:
    is_one = answer.headers["content-type"] == "application/problem+json"
    return is_one and answer.status == json.loads(answer.body)["status"] == status


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.nip.io", "x@"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "DELETE"])
def test_a_foreign_name_is_misdirected(app: Application, method: str, host: str) -> None:
    answer = ask(app.port, method, app.page, Host=host)
    assert answer.status == 421
    if method != "HEAD":
        assert is_problem(answer, 421)
        assert b"allowed" in answer.body
    assert_safe(answer)


@pytest.mark.parametrize("host", HIDDEN)
def test_a_foreign_name_does_not_hide_behind_an_own_one(app: Application, host: str) -> None:
    assert is_problem(ask(app.port, "GET", app.page, Host=host), 421)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8080", "[::1]", "10.1.2.3:80", "broker.example", "localhost."],
)
def test_own_names_and_addresses_are_served(app: Application, host: str) -> None:
    assert ask(app.port, "GET", app.page, Host=host).status == 200


def test_the_name_of_the_machine_is_its_own(app: Application) -> None:
    assert ask(app.port, "GET", app.page, Host=f"{socket.gethostname()}:{app.port}").status == 200


@pytest.mark.parametrize("host", ["advertised.example:1", "parent.example:8080"])
def test_advertised_names_are_served(node: PenstockProcess, host: str) -> None:
    assert ask(node.http_port, "GET", "/health/live", Host=host).status == 200


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1", b"GET / HTTP/1.0", b"GET / HTTP/1.0\r\nHost: "])
def test_a_request_without_a_name_is_refused(app: Application, line: bytes) -> None:
    with socket.create_connection(("127.0.0.1", app.port), timeout=20) as sock:
        sock.sendall(line + b"\r\n\r\n")
        answer = sock.makefile("rb").read()
    assert answer.split()[1] == b"400"
    assert b"application/problem+json" in answer
    assert b"x-content-type-options: nosniff" in answer.lower()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "file://localhost"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://[::1"},
        {"Origin": "http://evil@localhost", "Host": "localhost"},
        {"Origin": "https://localhost", "Host": "localhost"},
        {"Origin": "http://localhost:0", "Host": "localhost"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=lambda headers: "-".join(headers.values()),
)
def test_a_foreign_page_changes_nothing(app: Application, headers: dict[str, str]) -> None:
    answer = ask(app.port, *app.act, **headers)
    assert is_problem(answer, 403)
    assert_safe(answer)


def test_pages_of_a_proxy_that_ends_tls_may(app: Application) -> None:
    assert ask(app.port, *app.act, Host="broker.example", Origin="https://broker.example").status not in (403, 421)


def test_a_request_has_one_length(app: Application) -> None:
    """Otherwise the rest of a body could be a request for this port, and none for a proxy in front of it."""
    method, path = app.act
    with socket.create_connection(("127.0.0.1", app.port), timeout=20) as sock:
        sock.sendall(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
            "0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        answer = sock.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("site", ["same-origin", "none", None])
def test_own_pages_and_programs_may(app: Application, site: str | None) -> None:
    for origin in (None, f"http://localhost:{app.port}"):
        answer = ask(app.port, *app.act, Origin=origin, Sec_Fetch_Site=site)
        assert answer.status not in (403, 421)


def test_a_foreign_page_may_ask_but_its_browser_keeps_the_answer(app: Application) -> None:
    for method in ("GET", "OPTIONS"):
        answer = ask(app.port, method, app.page, Origin="http://evil.example", Sec_Fetch_Site="cross-site")
        assert not any(name.startswith("access-control-") for name in answer.headers)
        assert_safe(answer)


@pytest.mark.parametrize(
    "path", ["/health/ready", "/metrics", "/nowhere", "/docs", "/api/v1/topics", "/registry/nodes"]
)
def test_every_answer_is_safe(app: Application, path: str) -> None:
    assert_safe(ask(app.port, "GET", path))


def test_the_page_of_an_api_has_its_style(app: Application) -> None:
    """The policy allows exactly the style in the page, and there is nothing else that would have to be allowed."""
    answer = ask(app.port, "GET", app.page)
    (style,) = (part.partition(b"</style>")[0] for part in answer.body.split(b"<style>")[1:])
    digest = base64.b64encode(hashlib.sha256(style).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in answer.headers["content-security-policy"]
    for wanted in (b"<script", b"<img", b" style=", b" src=", b" onclick="):
        assert wanted not in answer.body


def assert_safe(answer: Answer) -> None:
    assert SAFE.items() <= answer.headers.items()
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
