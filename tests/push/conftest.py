"""A broker of their own for the tests of the push door, with short times."""

import re
from collections.abc import Callable, Iterator

import pytest

from penstock.protocol.push.messages import CreateTopic
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient

CONFIG = """\
groups:
  initial_rebalance_delay_ms: 0
push:
  ack_timeout_ms: 60000
  redelivery_delay_ms: 20
  deliveries_max: 3
  heartbeat_interval_ms: 10000
  subscriptions_per_connection_max: 1000
"""
SHORT_ACKS = CONFIG.replace("ack_timeout_ms: 60000", "ack_timeout_ms: 1500")
"""For modules with a test that waits for it: on a busy machine a message of any other test might come again."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[PenstockProcess]:
    """A module may have a CONFIG of its own."""
    config = getattr(request.module, "CONFIG", CONFIG)
    process = PenstockProcess(tmp_path_factory.mktemp("push"), config)
    process.prepare()
    process.start()
    yield process
    process.stop()


Connect = Callable[[], PushClient]


@pytest.fixture
def connect(node: PenstockProcess) -> Iterator[Connect]:
    made: list[PushClient] = []

    def new() -> PushClient:
        made.append(PushClient(node.push_port))
        return made[-1]

    yield new
    for client in made:
        client.close()


@pytest.fixture
def client(connect: Connect) -> PushClient:
    return connect()


@pytest.fixture
def topic(client: PushClient, request: pytest.FixtureRequest) -> str:
    name = re.sub("[^a-z0-9-]+", "-", str(request.node.name))[-60:]
    client.ask(CreateTopic(name, 1))
    return name
