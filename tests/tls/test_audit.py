"""Clients that are known by their certificates are in the audit log, as those with passwords are."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.push.messages import CreateTopic, encode
from tests.support.certificates import Authority, Issued
from tests.support.waiting import wait_until
from tests.tls.conftest import SecuredProcess

pytestmark = pytest.mark.feature("F-03")

ASKED = {
    "MUTUAL": b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff",  # ApiVersions
    "PUSH": encode(CreateTopic("audited", 1), 7),
    "HTTP": b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.fixture
def lines(broker: SecuredProcess) -> Callable[[], list[dict[str, Any]]]:
    """The lines of the audit log since the test began."""
    start = len(broker.log_file.read_bytes())

    def read() -> Iterator[dict[str, Any]]:
        for line in broker.log_file.read_bytes()[start:].splitlines(keepends=True):
            if line.endswith(b"\n") and b'"penstock.audit"' in line:
                yield json.loads(line)

    return lambda: list(read())


def ask(broker: SecuredProcess, listener: str, shown: Issued | None, times: int = 1) -> None:
    """Send requests on one connection, and read an answer to each unless the connection is closed."""
    port = {**broker.ports, "PUSH": broker.push_port, "HTTP": broker.http_port}[listener]
    context = broker.authority.client_context(shown) if shown else broker.authority.client_context()
    raw = socket.create_connection((broker.host, port), timeout=30)
    with contextlib.suppress(OSError), context.wrap_socket(raw, server_hostname="127.0.0.1") as stream:
        for _ in range(times):
            stream.sendall(ASKED[listener])
            stream.recv(1)


def listeners_in(lines: Callable[[], list[dict[str, Any]]], **wanted: str) -> list[str]:
    return sorted(
        line["listener"] for line in lines() if all(line.get(name) == value for name, value in wanted.items())
    )


def test_logins(broker: SecuredProcess, lines: Callable[[], list[dict[str, Any]]]) -> None:
    shown = broker.authority.issue("audited")
    for listener in ASKED:
        ask(broker, listener, shown, times=2)
    wanted = {"message": "login", "principal": "User:AUDITED", "mechanism": "certificate", "host": "127.0.0.1"}
    everywhere = ["HTTP", "MUTUAL", "PUSH"]
    wait_until(lambda: len(listeners_in(lines, **wanted)) >= len(everywhere), what="a line for each login")
    assert listeners_in(lines, **wanted) == everywhere, "one line, however many requests follow"


def test_refused_certificates(
    broker: SecuredProcess, lines: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    foreign = Authority(tmp_path / "other").issue("mallory")
    for listener in ASKED:
        ask(broker, listener, foreign)
    ask(broker, "MUTUAL", None)
    failed = partial(listeners_in, lines, message="login failed", mechanism="certificate", host="127.0.0.1")
    wait_until(lambda: len(failed()) >= 4, what="a line for each refusal")
    assert failed() == ["HTTP", "MUTUAL", "MUTUAL", "PUSH"]
    reasons = {line.get("reason", "") for line in lines()}
    assert any(reason.startswith("the client's certificate was refused") for reason in reasons)
    assert "the handshake failed: peer did not return a certificate" in reasons
