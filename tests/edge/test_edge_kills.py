"""Killed at the worst moments: nothing is stored twice, nothing is missing, a refresh goes on."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import pytest

from penstock.protocol.push import messages as wire
from penstock.runtime.pauses import EDGE_REFRESH_PAUSES
from tests.edge.conftest import NewEdge, inject
from tests.support.fake_push_broker import FakePushBroker, Item
from tests.support.http_json import ask
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import unique_name
from tests.support.variants import variants
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-13")


def prices(offsets: range | list[int]) -> list[Item]:
    return [(0, offset, b"AAPL", b'{"symbol":"AAPL","price":%d}' % (offset + 1)) for offset in offsets]


def test_killed_before_the_ack_nothing_is_stored_twice(fake_broker: FakePushBroker, new_edge: NewEdge) -> None:
    fake_broker.greeting = [fake_broker.data(prices(range(5)))]
    edge = new_edge(fake_broker.port)
    edge.pause = "edge-stored"
    edge.start()
    edge.wait_for_pause()
    assert not fake_broker.acknowledged
    edge.kill9()
    edge.pause = None
    edge.start()
    wait_until(lambda: len(fake_broker.acknowledged) == 5, what="all five to be acknowledged")
    assert [(each["partition"], each["source_offset"]) for each in edge.messages()] == [(0, n) for n in range(5)]
    stats = edge.stats()
    assert (stats["received"], stats["stored"], stats["duplicates"]) == (5, 0, 5)
    edge.stop()
    assert fake_broker.has_received(wire.Disconnect)


def test_whatever_comes_again_or_out_of_order_is_stored_once(fake_broker: FakePushBroker, new_edge: NewEdge) -> None:
    fake_broker.greeting = [
        fake_broker.data(prices([3, 4])),
        fake_broker.data([(1, 0, None, None), *prices([0, 4, 1])]),
        fake_broker.data(prices([2, 2, 3])),
    ]
    edge = new_edge(fake_broker.port, CONSUMER_TYPE="plain")
    edge.start()
    wait_until(lambda: len(fake_broker.acknowledged) == 6, what="all six to be acknowledged")
    found = edge.messages()
    assert sorted((each["partition"], each["source_offset"]) for each in found) == [*((0, n) for n in range(5)), (1, 0)]
    latest = edge.get("/messages/latest?key=AAPL").body
    assert latest["source_offset"] == 4, "the last of its source, not the last that came"
    tombstone = next(each for each in found if each["partition"] == 1)
    assert (tombstone["key_encoding"], tombstone["body"], tombstone["body_encoding"]) == ("null", None, "null")
    edge.stop()


def test_another_message_under_a_known_offset_stops_the_feed_until_a_refresh(
    fake_broker: FakePushBroker, new_edge: NewEdge
) -> None:
    fake_broker.greeting = [fake_broker.data(prices(range(3)))]
    edge = new_edge(fake_broker.port)
    edge.start()
    wait_until(lambda: len(fake_broker.acknowledged) == 3, what="all three to be acknowledged")
    fake_broker.acknowledged.clear()
    other: list[Item] = [(0, 0, b"AAPL", b'{"price":99}')]
    fake_broker.send(fake_broker.data(other))
    wait_until(lambda: edge.get("/health").body["problems"], what="the application to notice")
    health = edge.get("/health").body
    assert "POST /refresh" in health["problems"][0]
    assert health["ready"], "what is stored can be read"
    assert not fake_broker.acknowledged
    fake_broker.greeting = [fake_broker.reset(1, {0: 1}), fake_broker.data(other)]
    assert ask(edge.http_port, "/refresh", "POST").status == 202
    wait_until(lambda: edge.stats()["generation"] == 2, what="the switch")
    assert fake_broker.has_received(wire.Ready)
    assert [each["body"] for each in edge.messages()] == [{"price": 99}]
    edge.stop()


def test_where_the_last_messages_are_gone_a_refresh_ends_all_the_same(
    fake_broker: FakePushBroker, new_edge: NewEdge
) -> None:
    """The broker names the end 5, and has nothing above 2."""
    fake_broker.greeting = [fake_broker.reset(3, {0: 5}), fake_broker.data(prices(range(3)))]
    edge = new_edge(fake_broker.port)
    edge.start()
    wait_until(lambda: edge.stats()["generation"] == 2, what="the switch")
    assert len(edge.messages()) == 3
    edge.stop()


QUICK_PAUSES = ("edge-begun", "edge-ready")


@pytest.mark.crash
@pytest.mark.parametrize(
    "pause",
    [pytest.param(name, marks=() if name in QUICK_PAUSES else pytest.mark.slow) for name in EDGE_REFRESH_PAUSES],
)
def test_a_refresh_that_is_killed_goes_on(push_broker: PenstockProcess, new_edge: NewEdge, pause: str) -> None:
    topic, group = unique_name("refreshed"), unique_name("group")
    inject(push_broker, topic, [{"key": str(number % 2), "body": {"number": number}} for number in range(7)])
    edge = new_edge(push_broker.push_port, CONSUMER_TYPE="plain", CONSUMER_TOPIC=topic, CONSUMER_GROUP=group)
    edge.pause = pause
    edge.start()
    edge.wait_for_messages(7)
    assert ask(edge.http_port, "/refresh", "POST").status == 202
    edge.wait_for_pause()
    edge.kill9()
    inject(push_broker, topic, [{"key": "new", "body": {"number": 7}}])
    edge.pause = None
    edge.start()
    assert len(edge.messages()) >= 7, "old or new, there are always all"
    wait_until(lambda: _is_over(push_broker, group), what="the broker to have heard READY")
    wait_until(lambda: edge.stats()["messages"] == 8, what="what came meanwhile")
    wait_until(lambda: edge.stats()["refresh"] is None, what="the switch")
    assert edge.stats()["generation"] == 2
    assert sorted(each["source_offset"] for each in edge.messages()) == list(range(8))
    edge.stop()


@pytest.mark.crash
@pytest.mark.slow
@variants("pause", [("edge-begun",), ("edge-filled",)], quick=[("edge-filled",)])
def test_a_refresh_whose_broker_is_killed_goes_on(tmp_path: Path, new_edge: NewEdge, pause: str) -> None:
    broker = PenstockProcess(tmp_path / "broker", "test_endpoints: true\n")
    broker.prepare()
    broker.start()
    inject(broker, "price-topic", [{"body": {"number": number}} for number in range(7)])
    edge = new_edge(broker.push_port, CONSUMER_TYPE="plain")
    edge.pause = pause
    edge.start()
    edge.wait_for_messages(7)
    assert ask(edge.http_port, "/refresh", "POST").status == 202
    edge.wait_for_pause()
    broker.kill9()
    os.kill(edge.pid, signal.SIGCONT)
    edge.wait_for("connected", False)
    assert len(edge.messages()) == 7
    broker.start()
    wait_until(lambda: edge.stats()["generation"] == 2, what="the refresh", within_s=60)
    wait_until(lambda: _is_over(broker, "price-group"), what="the broker to have heard READY")
    assert sorted(each["source_offset"] for each in edge.messages()) == list(range(7))
    edge.stop()
    broker.stop()


def _is_over(broker: PenstockProcess, group: str) -> bool:
    subscriptions = ask(broker.http_port, "/push/subscriptions").body["subscriptions"]
    return [each["refresh"] for each in subscriptions if each["name"] == group] == [None]


@pytest.mark.crash
@pytest.mark.slow
def test_killed_again_and_again_under_load_every_offset_is_once(
    push_broker: PenstockProcess, new_edge: NewEdge
) -> None:
    topic, group = unique_name("killed"), unique_name("group")
    edge = new_edge(push_broker.push_port, CONSUMER_TYPE="plain", CONSUMER_TOPIC=topic, CONSUMER_GROUP=group)
    numbers = itertools.count()
    sent = 0
    for _ in range(6):
        inject(push_broker, topic, [{"body": next(numbers)} for _ in range(2000)])
        sent += 2000
        edge.start()
        wait_until(lambda: edge.stats()["received"] > 300, what="some messages")
        edge.kill9()
    edge.start()
    edge.wait_for_messages(sent, within_s=60)
    assert sorted(each["source_offset"] for each in edge.messages("limit=1000")) == list(range(sent))
    edge.stop()
