"""A real broker that these tests share, asked over its admin API and by Kafka clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.group_client import wait_for_coordinator
from tests.support.http_json import Answer, ask
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name


class Rest:
    """The admin API of one broker."""

    def __init__(self, process: PenstockProcess) -> None:
        self.process = process

    def __call__(self, method: str, path: str, body: Any = None) -> Answer:
        return ask(self.process.http_port, f"/api/v1{path}", method, body, timeout_s=60)

    def ok(self, method: str, path: str, body: Any = None) -> Any:
        """The body of an answer that is no problem."""
        answer = self(method, path, body)
        assert answer.status < 300, answer
        return answer.body

    def refused(self, status: int, error: str, method: str, path: str, body: Any = None) -> str:
        """Send a request that must be refused, and return the detail of its problem."""
        answer = self(method, path, body)
        assert (answer.status, answer.body.get("error")) == (status, error), answer
        return answer.detail

    def pages(self, path: str, what: str) -> list[list[Any]]:
        """All pages of a list."""
        found, cursor = [], ""
        while True:
            page = self.ok("GET", f"{path}{cursor}")
            found.append(page[what])
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"

    def topic(self, partitions: int = 1, **configs: Any) -> str:
        """A new one; configs with _ for the dots of their names."""
        named = {name.replace("_", "."): value for name, value in configs.items()}
        body = {"name": unique_name("topic"), "partitions": partitions, "configs": named}
        return str(self.ok("POST", "/topics", body)["name"])

    def send(self, topic: str, *values: str, **more: Any) -> list[int]:
        """Messages; their offsets."""
        path = f"/topics/{topic}/messages"
        return [self.ok("POST", path, {"value": value, **more})["offset"] for value in values]


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    broker = PenstockProcess(tmp_path_factory.mktemp("broker"), "groups:\n  initial_rebalance_delay_ms: 0\n")
    broker.prepare()
    broker.start()
    with RawClient(broker.host, broker.port) as client:
        wait_for_coordinator(client)
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def rest(process: PenstockProcess) -> Rest:
    return Rest(process)


@pytest.fixture(scope="session")
def admin(process: PenstockProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": process.bootstrap, "enable.metrics.push": False})


@pytest.fixture
def client(process: PenstockProcess) -> Iterator[RawClient]:
    with RawClient(process.host, process.port) as connection:
        yield connection
