"""One broker for the whole run, whose HTTP port has TLS and asks for a login, and connections to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.certificates import Issued
from tests.web_login.secured import WebClient, WebProcess


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    process = WebProcess(tmp_path_factory.mktemp("web"))
    process.prepare()
    process.start()
    yield process
    process.stop()


Connect = Callable[..., WebClient]


@pytest.fixture
def connect(broker: WebProcess) -> Iterator[Connect]:
    """Open connections that are closed when the test ends."""
    opened: list[WebClient] = []

    def open_one(certificate: Issued | None = None) -> WebClient:
        opened.append(broker.client(certificate))
        return opened[-1]

    yield open_one
    for client in opened:
        client.close()


@pytest.fixture
def client(connect: Connect) -> WebClient:
    return connect()
