"""The consumer application against a real broker: what is produced can be asked for, with the broker or without."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock import BrokerClient
from penstock.edge.http.bodies import HealthBody, MessageBody, MessagesBody, SegmentsBody, StatsBody
from tests.edge.conftest import NewEdge, inject
from tests.support.edge_process import EdgeProcess
from tests.support.http_json import ask
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import unique_name
from tests.support.topic_contents import topic_contents
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-13")
PRICES = {"AAPL": 227.5, "GOOGL": 181.2, "MSFT": 431.8, "TSLA": 342.1, "AMZN": 204.6}
START_MS = 1_772_461_800_000


@pytest.fixture(scope="module")
def edge(push_broker: PenstockProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeProcess]:
    """With the five prices, one a second."""
    producer = Producer({"bootstrap.servers": push_broker.bootstrap})
    for number, (symbol, price) in enumerate(PRICES.items()):
        body = json.dumps({"symbol": symbol, "price": price})
        headers: list[tuple[str, str | bytes | None]] = [("exchange", b"NASDAQ"), ("raw", b"\xff")]
        producer.produce("price-topic", body, symbol, timestamp=START_MS + 1000 * number, headers=headers)
    producer.flush()
    process = EdgeProcess(tmp_path_factory.mktemp("edge"), push_broker.push_port)
    process.start()
    process.wait_for_messages(5)
    yield process
    if process.running:
        process.stop()


def test_the_five_prices_are_there_and_the_offset_has_moved_from_0_to_5(
    push_broker: PenstockProcess, edge: EdgeProcess
) -> None:
    stats = edge.stats()
    StatsBody.model_validate(stats)
    assert (stats["type"], stats["topic"], stats["group"]) == ("price", "price-topic", "price-group")
    assert (stats["messages"], stats["log_start"], stats["log_end"], stats["positions"]) == (5, 0, 5, {"0": 5})
    wait_until(lambda: _committed(push_broker, "price-topic", "price-group") == {"0": 5}, what="the group at 5")
    (consumer,) = _consumers(push_broker, "price-topic")
    assert (consumer["group"], consumer["members"], consumer["lag"]) == ("price-group", 1, 0)
    found = edge.messages()
    assert [each["key"] for each in found] == list(PRICES)
    assert [each["body"]["price"] for each in found] == list(PRICES.values())
    assert [each["source_offset"] for each in found] == [0, 1, 2, 3, 4]
    assert found[0]["time"] == "2026-03-02T14:30:00.000Z"
    assert found[0]["properties"] == [
        {"name": "exchange", "value": "NASDAQ", "encoding": "text"},
        {"name": "raw", "value": "/w==", "encoding": "base64"},
    ]
    wait_until(lambda: edge.stats()["handler"]["symbols"] == 5, what="all of them to be handled")
    prices = edge.stats()["handler"]["prices"]
    assert {symbol: last["price"] for symbol, last in prices.items()} == PRICES


def _consumers(broker: PenstockProcess, topic: str) -> list[dict[str, Any]]:
    topics = ask(broker.http_port, "/test/stats").body["topics"]
    return [consumer for each in topics if each["topic"] == topic for consumer in each["consumers"]]


def _committed(broker: PenstockProcess, topic: str, group: str) -> dict[str, int] | None:
    return next((each["offsets"] for each in _consumers(broker, topic) if each["group"] == group), None)


@pytest.mark.parametrize(
    ("query", "symbols"),
    [
        ("", list(PRICES)),
        ("offset=3", ["TSLA", "AMZN"]),
        ("offset=99", []),
        ("limit=2", ["AAPL", "GOOGL"]),
        (f"from={START_MS + 1000}&to={START_MS + 3000}", ["GOOGL", "MSFT"]),
        ("from=2026-03-02T14:30:03Z", ["TSLA", "AMZN"]),
        ("to=2026-03-02T15:30:01%2B01:00", ["AAPL"]),
        ("key=MSFT", ["MSFT"]),
        (f"key=MSFT&from={START_MS + 2001}", []),
        ("key=none", []),
        ("from=-5&to=0", []),
    ],
)
def test_messages_by_offset_and_by_key_and_time(edge: EdgeProcess, query: str, symbols: list[str]) -> None:
    answer = edge.get(f"/messages?{query}")
    assert answer.status == 200
    MessagesBody.model_validate(answer.body)
    assert [each["key"] for each in answer.body["messages"]] == symbols


@pytest.mark.parametrize(
    ("query", "fix"),
    [
        ("offset=1&key=AAPL", "leave out either"),
        ("offset=1&from=5&to=9", "leave out either"),
        ("cursor=abc&key=AAPL", "leave out key, or leave out cursor"),
        ("cursor=abc&offset=1", "leave out offset, or leave out cursor"),
        ("cursor=abc", "take it from `cursor` of an answer"),
        ("cursor=WzEsIngiLC0xXQ", "take it from `cursor` of an answer"),
        ("from=9&to=9", "make to later"),
        ("from=tomorrow", "2026-03-02T14:30:00Z"),
        ("to=2026-03-02T15:30:01+01:00", "write + as %2B"),
        ("from=99999999999999999999", "milliseconds since 1970"),
        ("offset=-1", "offset"),
        ("offset=x", "offset"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        (
            "limt=5",
            "'limt' is not a parameter; did you mean limit? this path takes offset, from, to, key, limit, cursor",
        ),
        ("key=AAPL&since=0", "'since' is not a parameter; this path takes"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused_with_the_fix(edge: EdgeProcess, query: str, fix: str) -> None:
    answer = edge.get(f"/messages?{query}")
    assert answer.status == 400
    assert fix in answer.detail


@pytest.mark.parametrize(
    ("path", "fix"),
    [
        ("/messages/latest?Key=AAPL", "'Key' is not a parameter; did you mean key?"),
        ("/stats?verbose=1", "'verbose' is not a parameter; this path takes none"),
        ("/segments?limit=1", "this path takes none"),
    ],
)
def test_an_unknown_parameter_is_refused_wherever_data_are_read(edge: EdgeProcess, path: str, fix: str) -> None:
    answer = edge.get(path)
    assert answer.status == 400
    assert fix in answer.detail


def test_probes_take_any_parameter(edge: EdgeProcess) -> None:
    assert edge.get("/health/live?from=balancer").status == 200
    assert edge.get("/health?from=balancer").status == 200


def test_the_latest_message_of_a_key(edge: EdgeProcess) -> None:
    answer = edge.get("/messages/latest?key=GOOGL")
    MessageBody.model_validate(answer.body)
    assert answer.body["body"] == {"symbol": "GOOGL", "price": 181.2}
    assert edge.get("/messages/latest").body["key"] == "AMZN"
    missing = edge.get("/messages/latest?key=none")
    assert (missing.status, missing.detail) == (404, "there is no message with the key none")


def test_what_the_port_tells_of_itself(edge: EdgeProcess) -> None:
    health = edge.get("/health")
    HealthBody.model_validate(health.body)
    assert (health.status, health.body["ready"], health.body["connected"]) == (200, True, True)
    assert health.body["last_message"] is not None
    assert edge.get("/health/ready").status == 200
    (segment,) = SegmentsBody.model_validate(edge.get("/segments").body).segments
    assert (segment.base_offset, segment.end_offset, segment.active) == (0, 5, True)
    page = edge.get("/metrics").body
    assert 'penstock_edge_stored_total{type="price"} 5.0' in page
    assert 'penstock_edge_connected{type="price"} 1.0' in page
    assert "penstock_handler_messages_total{" in page
    assert "/messages/latest" in edge.get("/none").detail
    assert "<code>/messages/latest</code>" in edge.get("/docs").body


def test_openapi_has_every_path_with_examples(edge: EdgeProcess) -> None:
    document = edge.get("/openapi.json").body
    assert set(document["paths"]) == {
        "/messages", "/messages/latest", "/stats", "/segments", "/health", "/health/live", "/health/ready",
        "/refresh", "/metrics",
    }  # fmt: skip
    schemas = document["components"]["schemas"]
    assert schemas["MessagesBody"]["examples"]
    MessagesBody.model_validate(schemas["MessagesBody"]["examples"][0])
    parameters = document["paths"]["/messages"]["get"]["parameters"]
    assert [each["name"] for each in parameters] == ["offset", "from", "to", "key", "limit", "cursor"]
    assert all(each["description"] for each in parameters)
    assert set(document["paths"]["/messages"]["get"]["responses"]) >= {"200", "400", "410", "503"}


def test_pages_go_on_where_they_ended_while_messages_arrive(push_broker: PenstockProcess, new_edge: NewEdge) -> None:
    topic, group = unique_name("paged"), unique_name("group")
    inject(push_broker, topic, [{"key": str(n % 2), "body": n, "timestamp": 5000 - n} for n in range(10)])
    edge = new_edge(push_broker.push_port, CONSUMER_TYPE="plain", CONSUMER_TOPIC=topic, CONSUMER_GROUP=group)
    edge.start()
    edge.wait_for_messages(10)
    by_offset = edge.get("/messages?limit=4").body
    by_key = edge.get("/messages?key=1&limit=2").body
    assert [each["body"] for each in by_key["messages"]] == [9, 7]
    inject(push_broker, topic, [{"key": str(n % 2), "body": n, "timestamp": 9000} for n in range(10, 13)])
    edge.wait_for_messages(13)
    rest = edge.get(f"/messages?cursor={by_offset['cursor']}&limit=1000").body
    assert [each["body"] for each in rest["messages"]] == list(range(4, 13))
    assert not rest["more"]
    rest_of_key = edge.get(f"/messages?cursor={by_key['cursor']}").body
    assert [each["body"] for each in rest_of_key["messages"]] == [5, 3, 1, 11]
    end = rest["cursor"]
    assert edge.get(f"/messages?cursor={end}").body == {"messages": [], "cursor": end, "more": False}
    inject(push_broker, topic, [{"body": 13}])
    wait_until(lambda: len(edge.get(f"/messages?cursor={end}").body["messages"]) == 1, what="what came since")
    assert ask(edge.http_port, "/refresh", "POST").status == 202
    wait_until(lambda: edge.stats()["generation"] == 2, what="the refresh")
    for cursor in (end, by_key["cursor"]):
        gone = edge.get(f"/messages?cursor={cursor}")
        assert gone.status == 410
        assert "ask again without it" in gone.detail
    assert len(edge.messages("limit=3")) == 14
    edge.stop()


def test_a_topic_of_several_partitions(push_broker: PenstockProcess, new_edge: NewEdge) -> None:
    topic, group = unique_name("wide"), unique_name("group")
    with BrokerClient(push_broker.host, push_broker.push_port) as client:
        client.create_topic(topic, partitions=3)
    inject(push_broker, topic, [{"key": f"k{n}", "body": n, "partition": n % 3} for n in range(30)])
    edge = new_edge(push_broker.push_port, CONSUMER_TYPE="plain", CONSUMER_TOPIC=topic, CONSUMER_GROUP=group)
    edge.start()
    edge.wait_for_messages(30)
    assert edge.stats()["positions"] == {"0": 10, "1": 10, "2": 10}
    assert ask(edge.http_port, "/refresh", "POST").status == 202
    wait_until(lambda: edge.stats()["generation"] == 2, what="the refresh")
    found = edge.messages()
    assert sorted((each["partition"], each["source_offset"]) for each in found) == [
        (partition, offset) for partition in range(3) for offset in range(10)
    ]
    assert edge.get("/messages/latest?key=k17").body["body"] == 17
    edge.stop()


def test_what_is_no_price_is_stored_and_becomes_a_dead_letter(push_broker: PenstockProcess, new_edge: NewEdge) -> None:
    topic, group = unique_name("prices"), unique_name("group")
    inject(push_broker, topic, [{"key": "AAPL", "body": "much"}, {"key": "GOOGL", "body": {"price": 181.2}}])
    edge = new_edge(push_broker.port, CONSUMER_TOPIC=topic, CONSUMER_GROUP=group)  # the Kafka port does as well
    edge.start()
    edge.wait_for_messages(2)
    wait_until(lambda: edge.stats()["handler"]["symbols"] == 1, what="the good one")
    assert edge.get("/messages/latest?key=AAPL").body["body_encoding"] == "text"
    dead = wait_until(lambda: topic_contents(push_broker.bootstrap, f"{topic}.{group}.dead"), what="a dead letter")
    assert [(each.key, each.value) for each in dead] == [(b"AAPL", b"much")]
    assert b"Price" in (dict(dead[0].headers)["dead-letter-reason"] or b"")
    wait_until(lambda: _committed(push_broker, topic, group) == {"0": 2}, what="the group at 2")
    edge.stop()


def test_another_package_brings_a_handler(push_broker: PenstockProcess, new_edge: NewEdge, tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "orders.py").write_text(HANDLER)
    information = package / "shop-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[penstock.edge]\norders = orders\n")
    topic, group = unique_name("orders"), unique_name("group")
    inject(push_broker, topic, [{"body": {"number": number}} for number in range(4)])
    edge = new_edge(
        push_broker.push_port,
        CONSUMER_TYPE="orders",
        CONSUMER_TOPIC=topic,
        CONSUMER_GROUP=group,
        PYTHONPATH=f"{package}:{os.environ.get('PYTHONPATH', '')}",
    )
    edge.start()
    wait_until(lambda: edge.stats()["handler"] == {"seen": [0, 1, 2, 3], "failures": 2}, what="all orders, in order")
    assert 'penstock_edge_stored_total{type="orders"} 4.0' in edge.get("/metrics").body
    edge.stop()


HANDLER = """
from penstock.consumers.decorators import consumer, message_handler, retry_policy

@consumer(topic="orders", group="shop")
@retry_policy(attempts=5, initial=0.01)
class Orders:
    def __init__(self):
        self.seen, self.failures = [], 0

    @message_handler
    def handle(self, order: dict):
        if order["number"] == 2 and self.failures < 2:
            self.failures += 1
            raise RuntimeError("not now")
        self.seen.append(order["number"])

    def stats(self):
        return {"seen": self.seen, "failures": self.failures}
"""


def test_answers_stay_when_the_broker_is_away(push_broker: PenstockProcess, edge: EdgeProcess) -> None:
    """The last of this file: it kills the broker."""
    before = edge.messages()
    push_broker.kill9()
    edge.wait_for("connected", False)
    assert edge.messages() == before
    health = edge.get("/health")
    assert (health.status, health.body["feed"]) == (200, f"connecting again to {health.body['broker']}")
    edge.stop()
    for path in edge.data_directory.glob("index-*"):
        path.unlink()
    edge.start()
    edge.wait_for("ready", True)
    assert edge.messages() == before
    assert edge.get("/messages/latest?key=MSFT").body["source_offset"] == 2
    wait_until(lambda: edge.stats()["handler"]["symbols"] == 5, what="the prices to be known again")
    wait_until(lambda: "no broker at" in edge.get("/health").body["feed"], what="the application to look for it")
    asked = ask(edge.http_port, "/refresh", "POST")
    assert (asked.status, asked.body["detail"]) == (202, "the broker is away; it is asked as soon as it is there")
    push_broker.start()
    wait_until(lambda: edge.stats()["generation"] == 2, what="the refresh that was asked for", within_s=30)
    inject(push_broker, "price-topic", [{"key": "AAPL", "body": {"symbol": "AAPL", "price": 228}}])
    edge.wait_for_messages(6)
    assert edge.messages()[:5] == before
    edge.stop()
