"""RESET and READY over the wire of a real broker: everything again from the beginning, whatever is killed meanwhile."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from penstock.broker.delivery.refresh_service import LINES_OF_SUBSCRIPTION_MAX
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import Data
from tests.push.conftest import SHORT_ACKS, Connect
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient, PushRefused
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-09", "P-13")

CONFIG = SHORT_ACKS


def reset(node: PenstockProcess, name: str) -> Any:
    url = f"http://{node.host}:{node.http_port}/push/subscriptions/{name}/reset"
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=10) as answer:
        return json.load(answer)


def take(client: PushClient, count: int) -> list[int]:
    return [item.offset for item in client.items(count)]


def test_a_refresh_brings_everything_again_and_then_what_is_new(
    client: PushClient, connect: Connect, node: PenstockProcess, topic: str
) -> None:
    client.publish(topic, b"0", b"1", b"2")
    reader = connect()
    reader.ask(m.Subscribe("", topic, "fresh"))
    assert take(reader, 3) == [0, 1, 2]
    with pytest.raises(PushRefused, match="not under way"):
        reader.ask(m.Ready("fresh", 1))
    assert reset(node, "fresh") == {"subscription": "fresh", "refresh_id": 1, "end_offsets": {"0": 3}}
    assert reader.receive() == m.Reset("fresh", 1, (m.TopicEnds(topic, ((0, 3),)),))
    client.publish(topic, b"live")
    data = reader.data()
    assert [item.offset for item in data.items][:3] == [0, 1, 2]
    with pytest.raises(PushRefused, match="not done"):
        reader.ask(m.Ready("fresh", 1))
    reader.acknowledge(data)
    reader.ask(m.Ready("fresh", 1))
    reader.ask(m.Ready("fresh", 1))  # the answer was lost
    if len(data.items) == 3:
        assert take(reader, 1) == [3]
    again = connect()
    reader.ask(m.Unsubscribe("fresh"))
    again.ask(m.Subscribe("fresh"))
    client.publish(topic, b"4")
    assert again.data().items[0].offset == 4, "after READY nobody is told to reset"


def test_a_reset_waits_for_what_is_in_flight(
    client: PushClient, connect: Connect, node: PenstockProcess, topic: str
) -> None:
    client.publish(topic, b"0", b"1")
    reader = connect()
    reader.ask(m.Subscribe("", topic, "waits"))
    data = reader.data()
    reset(node, "waits")
    assert reader.is_silent(0.2)
    reader.acknowledge(data)
    assert isinstance(reader.receive(), m.Reset)
    assert take(reader, 2) == [0, 1]


def test_lines_about_refreshes_are_bounded(client: PushClient, node: PenstockProcess, topic: str) -> None:
    client.ask(m.CreateSubscription("often", topic))
    ids = [reset(node, "often")["refresh_id"] for _ in range(LINES_OF_SUBSCRIPTION_MAX + 5)]
    assert ids == list(range(1, len(ids) + 1))
    lines = [line for line in node.log_file.read_text().splitlines() if "of subscription often" in line]
    assert len(lines) == LINES_OF_SUBSCRIPTION_MAX


def test_who_does_not_answer_is_disconnected_for_the_refresh(
    client: PushClient, connect: Connect, node: PenstockProcess, topic: str
) -> None:
    client.publish(topic, b"0")
    stuck = connect()
    stuck.ask(m.Subscribe("", topic, "stuck"))
    stuck.data()
    reset(node, "stuck")
    assert "refresh" in stuck.ends()[-1].message
    reader = connect()
    reader.ask(m.Subscribe("stuck"))
    assert isinstance(reader.receive(), m.Reset)


def test_a_member_that_dies_resumes_the_same_refresh(
    client: PushClient, connect: Connect, node: PenstockProcess, topic: str
) -> None:
    client.publish(topic, *[str(number).encode() for number in range(4)])
    first = connect()
    first.ask(m.Subscribe("", topic, "resumed", credit=2))
    assert take(first, 4) == [0, 1, 2, 3]
    reset(node, "resumed")
    assert isinstance(first.receive(), m.Reset)
    data = first.data()
    first.acknowledge(Data("resumed", topic, data.items[:1]))
    first.ask(m.Unsubscribe("resumed"))
    second = connect()
    second.ask(m.Subscribe("resumed"))
    assert second.receive() == m.Reset("resumed", 1, (m.TopicEnds(topic, ((0, 4),)),))
    assert sorted(take(second, 3)) == [1, 2, 3]
    second.ask(m.Ready("resumed", 1))


def test_a_broker_that_dies_resumes_the_same_refresh(tmp_path: Path) -> None:
    node = PenstockProcess(tmp_path, SHORT_ACKS)
    node.prepare()
    node.start()
    try:
        with PushClient(node.push_port) as client:
            client.ask(m.CreateTopic("prices", 1))
            client.publish("prices", b"0", b"1", b"2")
            client.ask(m.Subscribe("", "prices", "edge"))
            take(client, 3)
            reset(node, "edge")
            assert isinstance(client.receive(), m.Reset)
        node.kill9()
        node.start()
        with PushClient(node.push_port) as client:
            join(client, "edge")
            assert client.receive() == m.Reset("edge", 1, (m.TopicEnds("prices", ((0, 3),)),))
            data = client.data()
            assert [item.offset for item in data.items] == [0, 1, 2]
            client.acknowledge(Data("edge", "prices", data.items[:2]))
            client.ask(m.CreateTopic("prices", 0))  # behind the ACK
            wait_until(lambda: committed(node, "edge") == 2, what="the position is stored")
        node.kill9()
        node.start()
        with PushClient(node.push_port) as client:
            join(client, "edge")
            assert isinstance(client.receive(), m.Reset)
            assert take(client, 1) == [2]
            client.ask(m.Ready("edge", 1))
        node.kill9()
        node.start()
        with PushClient(node.push_port) as client:
            join(client, "edge")
            assert client.is_silent(), "the refresh is over, and so it is after a crash"
    finally:
        node.kill9()


def join(client: PushClient, name: str) -> None:
    """The group's log may still be loading."""

    def joined() -> bool:
        try:
            client.ask(m.Subscribe(name))
        except PushRefused as refused:
            if refused.code not in (14, 15):
                raise
            return False
        return True

    wait_until(joined, what=f"a member of {name}")


def committed(node: PenstockProcess, group: str) -> int | None:
    from tests.support.metrics_page import page

    for line in page(node).splitlines():
        if line.startswith("penstock_consumer_committed_offset{") and f'group="{group}"' in line:
            return int(float(line.split()[-1]))
    return None


def test_a_reset_of_what_is_not_there_is_a_problem_document(node: PenstockProcess) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        reset(node, "nobody")
    assert refused.value.code == 404
    assert "create-subscription" in json.load(refused.value)["detail"]
