"""A real broker for the tests of the consumer application, and prices in it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.edge_process import EdgeProcess
from tests.support.fake_push_broker import FakePushBroker
from tests.support.http_json import ask
from tests.support.penstock_process import PenstockProcess

NewEdge = Callable[..., EdgeProcess]

# Times in these tests are long ago: retention, which looks every 30 s, would delete the messages of a slow run.
CONFIG = "test_endpoints: true\ntopics:\n  defaults:\n    retention.ms: -1\n"


@pytest.fixture(scope="module")
def push_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path_factory.mktemp("broker"), CONFIG)
    process.prepare()
    process.start()
    yield process
    if process.running:
        process.stop()


@pytest.fixture
def fake_broker() -> Iterator[FakePushBroker]:
    broker = FakePushBroker()
    yield broker
    broker.close()


@pytest.fixture
def new_edge(tmp_path: Path) -> Iterator[NewEdge]:
    """Applications that are ended with the test."""
    made: list[EdgeProcess] = []
    numbers = itertools.count()

    def make(broker_port: int, **variables: str) -> EdgeProcess:
        edge = EdgeProcess(tmp_path / f"edge-{next(numbers)}", broker_port, **variables)
        made.append(edge)
        return edge

    yield make
    for edge in made:
        edge.kill9()


def inject(broker: PenstockProcess, topic: str, messages: list[dict[str, object]]) -> None:
    answer = ask(broker.http_port, "/test/inject-messages", "POST", {"topic": topic, "messages": messages})
    assert answer.status == 200, answer
