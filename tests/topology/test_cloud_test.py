"""`penstock registry serve --cloud-test`: the registry and the root with five prices, and a broker that gets them."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.fetches import fetch_everything
from penstock.model.records import iter_records
from penstock.model.topic_partition import TopicPartition
from tests.support.penstock_process import PenstockProcess
from tests.support.registry_process import RegistryProcess, all_running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-27")

SYMBOLS = ["AAPL", "GOOGL", "MSFT", "TSLA", "AMZN"]
PLACE = TopicPartition("price-topic", 0)


class ReferenceBroker(PenstockProcess):
    """Set up by the environment alone, as in the commands of the end-to-end test."""

    def __init__(self, directory: Path, registry_url: str) -> None:
        super().__init__(directory)
        self.data_directory = directory / "data-local"
        self._registry_url = registry_url

    def command(self) -> list[str]:
        return [sys.executable, "-m", "penstock", "serve"]

    def environment(self) -> dict[str, str]:
        return dict(os.environ) | {
            "NODE_ID": "local-001",
            "REGISTRY_URL": self._registry_url,
            "BROKER_PORT": str(self.port),
            "DATA_DIR": "./data-local",
            "HTTP_PORT": str(self.http_port),
            "PENSTOCK_PUSH__PORT": "0",  # 9999 may be somebody else's
        }


def prices(port: int) -> list[tuple[int, str, float]]:
    """Offset, symbol and price of everything in the topic; nothing while there is no topic."""
    with Cluster([Address("127.0.0.1", port)], timeout_s=10) as cluster:
        if PLACE.topic not in cluster.topics([PLACE.topic]):
            return []
        fetched = fetch_everything(cluster, PLACE, 0, max_bytes=1 << 20)
    found = []
    for record in iter_records(fetched.records):
        document = json.loads(record.value or b"")
        assert record.key == document["symbol"].encode()
        found.append((record.offset, document["symbol"], document["price"]))
    return found


def root_port(server: RegistryProcess) -> int:
    """The Kafka port that the root has taken, as its log says."""
    return int(re.findall(r"ready node=cloud-root kafka=(\d+)", server.log_file.read_text())[-1])


def test_a_local_broker_gets_the_five_prices(tmp_path: Path) -> None:
    server = RegistryProcess(tmp_path / "cloud", "--cloud-test")
    broker = ReferenceBroker(tmp_path / "broker", server.url)
    with all_running(server):
        wait_until(lambda: len(prices(root_port(server))) == 5, what="the root has its prices")
        with all_running(broker):
            wait_until(lambda: len(prices(broker.port)) == 5, what="the broker has them, too", within_s=30)
            told = prices(broker.port)
            assert [offset for offset, _, _ in told] == list(range(5))
            assert [symbol for _, symbol, _ in told] == SYMBOLS
            assert told == prices(root_port(server))
            nodes = {node["nodeId"]: node for node in server.ask("GET", "/registry/nodes").json["nodes"]}
            assert (nodes["cloud-root"]["role"], nodes["cloud-root"]["url"]) == ("ROOT", server.url)
            assert (nodes["local-001"]["role"], nodes["local-001"]["parentId"]) == ("LOCAL", "cloud-root")
            page = server.ask("GET", "/metrics").body.decode()
            assert 'penstock_registry_nodes{role="ROOT",state="live"} 1.0' in page
            server.kill9()
            server.start()
            assert len(prices(root_port(server))) == 5  # found, not made again
            assert prices(broker.port) == told
