"""One broker with SASL for the whole run, and connections to it. PENSTOCK_TEST_TARGET=kafka runs the control."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.sasl_client import SaslClient
from tests.support.sasl_process import make_sasl_broker

SOURCES = itertools.count(1)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = make_sasl_broker(tmp_path_factory.mktemp("sasl-broker"))
    process.prepare()
    process.start()
    yield process
    process.stop()


@pytest.fixture
def penstock_only(broker: BrokerProcess) -> None:
    if broker.kind != "penstock":
        pytest.skip("Apache Kafka differs here")


@pytest.fixture
def connect(broker: BrokerProcess) -> Iterator[Callable[[], SaslClient]]:
    """Open connections that are closed when the test ends, each from an address that has not failed before."""
    opened: list[SaslClient] = []

    def open_one() -> SaslClient:
        number = next(SOURCES)
        opened.append(SaslClient(broker.host, broker.port, source=f"127.1.{number >> 8}.{number & 255}"))
        return opened[-1]

    yield open_one
    for client in opened:
        client.close()


@pytest.fixture
def client(connect: Callable[[], SaslClient]) -> SaslClient:
    return connect()
