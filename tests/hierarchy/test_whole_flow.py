"""The whole flow over real processes: registry, root, a broker below it, a local one, and the consumer application.

Five prices go in at the top and are at the bottom, each once and in order. Then every process is killed in turn, and
the line between two brokers is cut for a while, with more prices on their way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import BrokerClient
from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.offsets import committed_offsets
from penstock.client.push.errors import BrokerClientError
from penstock.model.topic_partition import TopicPartition
from tests.support.broker_process import BrokerProcess
from tests.support.edge_process import EdgeProcess
from tests.support.hierarchy import HierarchyNode, Line
from tests.support.registry_process import RegistryProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("P-15", "P-28"), pytest.mark.timeout(300)]

SYMBOLS = ["AAPL", "GOOGL", "MSFT", "TSLA", "AMZN"]
TOPIC, GROUP = "price-topic", "price-group"
FOLLOWS = """\
node: {{id: {node_id}}}
registry: {{url: '{registry}', role: {role}, poll_interval_ms: 300{more}}}
pipe: {{poll_interval_ms: 50, wait_ms: 2000, timeout_ms: 2000}}
"""


class Shop:
    """Everything from the registry down to the consumer application."""

    def __init__(self, directory: Path) -> None:
        # No node may get another parent while one is killed here: the registry has a test for that.
        self.registry = RegistryProcess(directory / "registry", "--missed-polls", "1000")
        self.root = self._node(directory, "root-001", "ROOT")
        self.line = Line(self.root)
        self.root = self._node(directory, "root-001", "ROOT", node=self.root, url=self.line.url)
        self.middle = self._node(directory, "l2-001", "L2")
        self.local = self._node(directory, "local-001", "LOCAL")
        self.edge = EdgeProcess(directory / "edge", self.local.push_port)
        self.count = 0

    def _node(
        self, directory: Path, node_id: str, role: str, *, node: HierarchyNode | None = None, url: str | None = None
    ) -> HierarchyNode:
        more = "" if url is None else f", advertised_url: '{url}'"
        config = FOLLOWS.format(node_id=node_id, registry=self.registry.url, role=role, more=more)
        made = HierarchyNode(directory / node_id, config=config)
        if node is not None:
            made.port, made.http_port, made.push_port = node.port, node.http_port, node.push_port
        return made

    @property
    def processes(self) -> dict[str, BrokerProcess]:
        return {
            "registry": self.registry, "root": self.root, "middle": self.middle, "local": self.local,
            "edge": self.edge,
        }  # fmt: skip

    def start(self) -> None:
        for process in self.processes.values():
            process.prepare()
            process.start()

    def stop(self) -> None:
        for process in reversed(self.processes.values()):
            if process.running:
                process.stop()

    def publish(self) -> None:
        """Five prices at the root. The publisher retries until it is acknowledged, and sends nothing twice."""
        with BrokerClient("127.0.0.1", self.root.push_port, client_id="cloud", request_timeout=60) as client:
            if self.count == 0:
                client.create_topic(TOPIC)
            for symbol in SYMBOLS:
                body = json.dumps({"symbol": symbol, "price": 100.0 + self.count})
                client.publish(TOPIC, body, key=symbol)
                self.count += 1

    def check_everything_arrived(self) -> None:
        """Once each, in order, with the root's offsets, and the local broker knows that it did."""
        self.edge.wait_for_messages(self.count, within_s=60)
        messages = self.edge.messages()
        assert [message["source_offset"] for message in messages] == list(range(self.count))
        assert [message["key"] for message in messages] == SYMBOLS * (self.count // 5)
        assert [message["body"]["price"] for message in messages] == [100.0 + number for number in range(self.count)]
        wait_until(lambda: self.committed() == self.count, what=f"the group is at {self.count}", within_s=30)

    def committed(self) -> int:
        place = TopicPartition(TOPIC, 0)
        with Cluster([Address("127.0.0.1", self.local.port)], timeout_s=30) as cluster:
            return committed_offsets(cluster, GROUP).get(place, 0)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_five_prices_are_at_the_bottom_and_five_more_after_a_kill_in_the_middle(shop: Shop) -> None:
    shop.publish()
    shop.check_everything_arrived()
    shop.middle.kill9()
    shop.publish()  # what happens above is not held up by what is below
    shop.middle.start()
    shop.check_everything_arrived()


@pytest.mark.full
def test_five_prices_then_every_process_killed_and_the_line_cut(shop: Shop) -> None:
    shop.publish()
    shop.check_everything_arrived()
    for name, process in shop.processes.items():
        process.kill9()
        if name != "root":
            shop.publish()  # what happens above is not held up by what is below
        process.start()
        shop.publish()
        shop.check_everything_arrived()
    shop.line.cut()
    shop.publish()
    assert shop.edge.stats()["messages"] == shop.count - 5, "the line is cut, and what is there stays readable"
    shop.line.mend()
    shop.check_everything_arrived()


@pytest.mark.slow
def test_publishing_goes_on_while_the_root_is_killed(shop: Shop) -> None:
    shop.publish()
    with BrokerClient("127.0.0.1", shop.root.push_port, client_id="steady", request_timeout=60) as client:
        for number in range(3):
            shop.root.kill9()
            with pytest.raises(BrokerClientError):
                BrokerClient("127.0.0.1", shop.root.push_port).connect()
            shop.root.start()
            for symbol in SYMBOLS:
                body = json.dumps({"symbol": symbol, "price": 100.0 + shop.count})
                client.publish(TOPIC, body, key=symbol)
                shop.count += 1
            assert shop.count == 5 * (number + 2)
    shop.check_everything_arrived()
