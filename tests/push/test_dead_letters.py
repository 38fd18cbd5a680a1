"""Messages that no member can handle become dead letters, whichever members there are and whatever that topic does."""

from __future__ import annotations

import pytest

from penstock.protocol.push import messages as m
from penstock.protocol.push.data import Verdict
from tests.push.shop import Shop, refuse
from tests.support.http_json import ask
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-09", "Q-05")

CONFIG = """\
push:
  ack_timeout_ms: 60000
  redelivery_delay_ms: 20
  deliveries_max: 3
"""


@pytest.fixture
def shop(node: PenstockProcess, topic: str) -> Shop:
    return Shop(node, topic)


def wait_until_waiting(node: PenstockProcess, count: int) -> None:
    wait_until(lambda: metric(node, "penstock_push_dead_letters_waiting") == count, what=f"{count} wait to be stored")


def test_the_last_member_dies_of_a_message_and_nobody_comes(shop: Shop) -> None:
    before = metric(shop.node, "penstock_push_dead_letters_total")
    shop.publish(b"good", b"good", b"bad")
    for count in (1, 2, 3):
        assert shop.crash().delivery_count == count
    (letter,) = shop.wait_for_dead_letters()
    assert letter.value == b"bad"
    shop.wait_until_done(3)
    assert metric(shop.node, "penstock_push_dead_letters_total") == before + 1


def test_a_dead_letter_topic_that_may_not_be_made_is_tried_again(shop: Shop, client: PushClient) -> None:
    """Its name collides with that of another topic, until that is deleted."""
    other = shop.dead.replace(".", "_", 1)
    client.ask(m.CreateTopic(other, 1))
    shop.publish(b"bad")
    with shop.member() as member:
        refuse(member)
        wait_until_waiting(shop.node, 1)
        wait_until(lambda: shop.dead.encode() in shop.node.log_file.read_bytes(), what="the log says so")
        assert member.is_silent()
        assert ask(shop.node.http_port, f"/api/v1/topics/{other}", "DELETE").status < 300
        (letter,) = shop.wait_for_dead_letters()
        assert letter.value == b"bad"
        wait_until_waiting(shop.node, 0)


def test_a_late_answer_saves_a_message_that_could_not_be_stored(shop: Shop, client: PushClient) -> None:
    client.ask(m.CreateTopic(shop.dead.replace(".", "_", 1), 1))
    shop.publish(b"bad")
    with shop.member() as member:
        for _ in range(3):
            data = member.data()
            member.acknowledge(data, Verdict.NOT_DONE)
        wait_until_waiting(shop.node, 1)
        member.acknowledge(data)
        shop.wait_until_done(1)
    assert shop.dead_letters() == []
    wait_until_waiting(shop.node, 0)


@pytest.mark.parametrize("who", ["the broker", "a client"])
def test_a_dead_letter_of_the_largest_message_fits(shop: Shop, who: str) -> None:
    """Either the broker or a client creates the dead-letter topic."""
    body = b"bad" + b"." * 1_048_400
    shop.publish(body)
    with shop.member() as member:
        if who == "a client":
            member.ask(m.CreateTopic(shop.dead, 1))
        refuse(member)
        (letter,) = shop.wait_for_dead_letters()
    assert letter.value == body


def test_a_compacted_dead_letter_topic_takes_no_message_without_a_key(shop: Shop, client: PushClient) -> None:
    client.ask(m.CreateTopic(shop.dead, 1))
    shop.set_config("cleanup.policy", "compact")
    shop.publish(b"bad")
    with shop.member() as member:
        refuse(member)
        wait_until(lambda: b"without a key" in shop.node.log_file.read_bytes(), what="the log says why")
        shop.set_config("cleanup.policy", "delete")
        (letter,) = shop.wait_for_dead_letters()
        assert letter.value == b"bad"


@pytest.mark.feature("P-23")
def test_the_time_to_live_of_dead_letters(shop: Shop, client: PushClient) -> None:
    """It is the dead-letter topic's, from its storing on; the message's own is over with its deliveries."""
    shop.publish(b"bad", properties=((b"ttl-ms", b"3600000"), (b"p", b"v")))
    with shop.member() as member:
        refuse(member)  # and it leaves at once, while that is stored
    (letter,) = shop.wait_for_dead_letters()
    headers = dict(letter.headers)
    assert "ttl-ms" not in headers
    assert headers["p"] == b"v"
    assert int(headers["dead-letter-timestamp"] or 0) <= letter.time_ms
    client.ask(m.Subscribe("", shop.dead, f"{shop.name}-before"))
    assert client.data().items[0].body == b"bad"
    shop.set_config("message.ttl.ms", "1")
    client.ask(m.Subscribe("", shop.dead, f"{shop.name}-after"))
    assert client.is_silent()
    assert len(shop.dead_letters()) == 1  # a Kafka client still sees it


@pytest.mark.feature("P-23")
def test_a_message_that_expires_before_it_is_stored_is_expired(shop: Shop) -> None:
    """Its last delivery is not answered for longer than it lives."""
    before = metric(shop.node, "penstock_expired_messages_total")
    shop.publish(b"bad", properties=((b"ttl-ms", b"3000"),))
    with shop.member() as member:
        refuse(member, times=2)
        data = member.data()
        assert member.is_silent(3.2)
        member.acknowledge(data, Verdict.NOT_DONE)
        wait_until(lambda: metric(shop.node, "penstock_expired_messages_total") > before, what="it has expired")
        shop.wait_until_done(1)
    assert shop.dead_letters() == []


def test_many_dead_letters_at_once(shop: Shop) -> None:
    bodies = [b"bad %d" % number for number in range(100)]
    shop.publish(*bodies)
    for _ in range(3):
        with shop.member() as member:
            member.items(100, acknowledge=False)
    assert [letter.value for letter in shop.wait_for_dead_letters(100)] == bodies
    shop.wait_until_done(100)
