"""One broker for the whole run whose push clients have to log in, and connections to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.support.push_client import PushClient
from tests.support.push_login import PushLoginProcess

Connect = Callable[..., PushClient]
SOURCES = itertools.count(1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PushLoginProcess]:
    process = PushLoginProcess(tmp_path_factory.mktemp("push-login"))
    process.prepare()
    process.start()
    yield process
    process.stop()


@pytest.fixture
def connect(broker: PushLoginProcess) -> Iterator[Connect]:
    """Open connections by the name of a listener; they are closed when the test ends.

    Those of a test are from an address of its own, at which nobody has failed before.
    """
    opened: list[PushClient] = []
    number = next(SOURCES)
    source = f"127.2.{number >> 8}.{number & 255}"

    def open_one(listener: str = "PUSH", certificate: str | None = None) -> PushClient:
        opened.append(broker.client(listener, certificate, source))
        return opened[-1]

    yield open_one
    for client in opened:
        client.close()
