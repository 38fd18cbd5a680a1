"""A broker for all tests, and names that no other test uses."""

import uuid
from collections.abc import Iterator

import pytest

from penstock import BrokerClient
from tests.support.fixtures import running
from tests.support.penstock_process import PenstockProcess

CONFIG = "groups:\n  initial_rebalance_delay_ms: 0\n"


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path_factory.mktemp("node"), CONFIG)
    for _ in running(process):
        yield process


@pytest.fixture
def client(node: PenstockProcess) -> Iterator[BrokerClient]:
    with BrokerClient(node.host, node.port) as connected:
        yield connected


@pytest.fixture
def name() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"
