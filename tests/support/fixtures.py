"""Fixtures of the outside tests: which broker they run against, and a raw client for each test.

    default                              a Penstock process of their own
    PENSTOCK_TEST_ENGINE=memory          the same with the memory engine; what needs a disk is skipped
    PENSTOCK_TEST_TARGET=kafka           the same tests against Apache Kafka, the control
    PENSTOCK_TEST_BOOTSTRAP=host:port    a running broker (PENSTOCK_TEST_TARGET says which kind)

`broker` is shared by a whole run; tests that stop or kill their broker use `own_broker`, a fresh one for each
module.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.group_client import wait_for_coordinator
from tests.support.kafka_process import KafkaProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient

PENSTOCK_CONFIG = """\
groups:
  initial_rebalance_delay_ms: 0
storage:
  retention_check_interval_ms: 500
  compaction_check_interval_ms: 500
"""


class RunningBroker(BrokerProcess):
    """A broker that was started elsewhere, and that the tests must leave running."""

    def __init__(self, directory: Path, kind: str, address: str) -> None:
        super().__init__(directory)
        self.kind = kind
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


def target_kind() -> str:
    return os.environ.get("PENSTOCK_TEST_TARGET", "penstock")


def target_engine() -> str:
    return os.environ.get("PENSTOCK_TEST_ENGINE", "disk")


def make_broker(directory: Path, *, session_timeout_min_ms: int = 6_000) -> BrokerProcess:
    kind = target_kind()
    assert kind in ("penstock", "kafka"), f"PENSTOCK_TEST_TARGET={kind} is neither penstock nor kafka"
    if kind == "kafka":
        return KafkaProcess(directory, {"group.min.session.timeout.ms": str(session_timeout_min_ms)})
    engine = target_engine()
    groups = f"groups:\n  session_timeout_min_ms: {session_timeout_min_ms}\n"
    config = PENSTOCK_CONFIG.replace("groups:\n", groups) + f"  engine: {engine}\n"
    process = PenstockProcess(directory, config)
    process.is_durable = engine != "memory"
    return process


def running(process: BrokerProcess) -> Iterator[BrokerProcess]:
    process.prepare()
    process.start()
    try:
        with RawClient(process.host, process.port) as client:
            wait_for_coordinator(client)
        yield process
    finally:
        if process.running:
            process.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    directory = tmp_path_factory.mktemp("broker")
    address = os.environ.get("PENSTOCK_TEST_BOOTSTRAP")
    yield from running(RunningBroker(directory, target_kind(), address) if address else make_broker(directory))


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    if "PENSTOCK_TEST_BOOTSTRAP" in os.environ:
        pytest.skip("needs a broker that it may stop")
    yield from running(make_broker(tmp_path_factory.mktemp("own-broker")))


@pytest.fixture
def connect(broker: BrokerProcess) -> Iterator[Callable[[], RawClient]]:
    """Open as many raw connections as a test wants; they are closed when it ends."""
    opened: list[RawClient] = []

    def open_one() -> RawClient:
        opened.append(RawClient(broker.host, broker.port))
        return opened[-1]

    yield open_one
    for client in opened:
        client.close()


@pytest.fixture
def client(connect: Callable[[], RawClient]) -> RawClient:
    return connect()


@pytest.fixture
def topic(client: RawClient) -> str:
    """A fresh topic with one partition."""
    return client.create_topic()


@pytest.fixture
def on_penstock(broker: BrokerProcess) -> bool:
    return broker.kind == "penstock"


@pytest.fixture
def penstock_only(broker: BrokerProcess) -> None:
    if broker.kind != "penstock":
        pytest.skip("Apache Kafka deliberately differs here")


@pytest.fixture
def kafka_only(broker: BrokerProcess) -> None:
    if broker.kind != "kafka":
        pytest.skip("Penstock deliberately differs here")
