"""Push subscriptions are groups to the admin API, and mirrors of a parent's topics cannot be changed over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.protocol.push import messages as m
from penstock.protocol.push.values import Start, StartKind
from tests.rest.conftest import Rest
from tests.support.hierarchy import HierarchyNode
from tests.support.push_client import PushClient
from tests.support.raw_client import unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-18")


@pytest.fixture
def push(rest: Rest) -> Iterator[PushClient]:
    with PushClient(rest.process.push_port) as client:
        yield client


def test_a_subscription_is_a_group(rest: Rest, push: PushClient) -> None:
    topic, name = rest.topic(), unique_name("shop")
    rest.send(topic, "a", "b", "c")
    push.ask(m.CreateSubscription(name, topic, Start(StartKind.EARLIEST)))
    details = rest.ok("GET", f"/groups/{name}")
    assert (details["kind"], details["state"], details["members"], details["lag"]) == ("push", "Empty", 0, 3)
    assert details["subscription"] == {"topic": topic, "delivery": "message", "unacknowledged": 0, "refresh": None}
    assert rest.ok("GET", f"/topics/{topic}")["subscriptions"] == [name]
    push.ask(m.Subscribe(name, client_id="till-7"))
    assert [item.body for item in push.items(3)] == [b"a", b"b", b"c"]
    wait_until(lambda: rest.ok("GET", f"/groups/{name}")["lag"] == 0, what="its position is stored")
    details = rest.ok("GET", f"/groups/{name}")
    assert (details["state"], [each["client_id"] for each in details["member_list"]]) == ("Stable", ["till-7"])
    reset = {"to": "earliest"}
    rest.refused(409, "NON_EMPTY_GROUP", "POST", f"/groups/{name}/offsets/reset", reset)
    rest.refused(409, "NON_EMPTY_GROUP", "DELETE", f"/groups/{name}")
    push.close()
    wait_until(lambda: rest.ok("GET", f"/groups/{name}")["members"] == 0, what="it has left")
    assert rest.ok("POST", f"/groups/{name}/offsets/reset", {"to": "offset", "offset": 1})["offsets"][0]["before"] == 3
    with PushClient(rest.process.push_port) as again:
        again.ask(m.Subscribe(name, client_id="till-7"))
        assert [item.body for item in again.items(2)] == [b"b", b"c"]
    wait_until(lambda: rest.ok("GET", f"/groups/{name}")["members"] == 0, what="it has left")
    assert rest("DELETE", f"/groups/{name}").status == 204
    rest.refused(404, "GROUP_ID_NOT_FOUND", "GET", f"/groups/{name}")
    assert rest.ok("GET", f"/topics/{topic}")["subscriptions"] == []


@pytest.mark.feature("P-12")
def test_a_mirror_is_read_and_not_changed(tmp_path: Path) -> None:
    root = HierarchyNode(tmp_path / "root").begin()
    child = HierarchyNode(tmp_path / "child", root.url).begin()
    above, below = Rest(root), Rest(child)
    try:
        topic = above.topic()
        above.send(topic, "a")
        path = f"/topics/{topic}/partitions/0/messages"
        wait_until(lambda: below("GET", path).status == 200 and bool(below.ok("GET", path)["messages"]), what="it came")
        assert below.ok("GET", f"/topics/{topic}")["mirror"] is True
        for method, end, body in (
            ("DELETE", "", None),
            ("POST", "/partitions", {"count": 3}),
            ("PATCH", "/configs", {"set": {"retention.ms": 1}}),
            ("POST", "/messages", {"value": "x"}),
        ):
            told = below.refused(403, "POLICY_VIOLATION", method, f"/topics/{topic}{end}", body)
            assert f"{topic} is a mirror of the topic at the parent http://{root.host}:{root.http_port}" in told
            assert "write to the root of the hierarchy" in told
        assert below.ok("GET", f"/topics/{topic}/partitions/0")["high_watermark"] == 1
    finally:
        child.kill9()
        root.kill9()
