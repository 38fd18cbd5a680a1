"""Messages that unpack to very much: those that no frame may hold are skipped, the others bounded in memory."""

from __future__ import annotations

import pytest

from penstock.model.batch_builder import NewRecord, build_batch
from penstock.protocol.push import messages as m
from tests.push.conftest import Connect
from tests.push.shop import Shop, refuse
from tests.support.batches import now_ms
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-09", "P-28")

MIB = 1 << 20
CONFIG = """\
limits:
  queued_bytes_total_max: 16 MiB
push:
  redelivery_delay_ms: 20
  deliveries_max: 3
  heartbeat_interval_ms: 10000
"""
ROOM_BYTES = 6 * MIB
"""The part of it for the backlog."""
BROKEN = b"the broker holds too much for clients that do not read"


@pytest.fixture
def shop(node: PenstockProcess, topic: str) -> Shop:
    return Shop(node, topic)


def produce(node: PenstockProcess, topic: str, *bodies: bytes) -> None:
    """As a Kafka client, in a packed batch."""
    with RawClient(node.host, node.port) as kafka:
        batch = build_batch([NewRecord(b"k", body) for body in bodies], timestamp=now_ms(), codec=4)
        kafka.appended(topic, bytes(batch))


def too_large(node: PenstockProcess) -> float:
    return metric(node, "penstock_push_too_large_total")


def test_a_message_that_no_frame_may_hold_is_skipped(node: PenstockProcess, client: PushClient, topic: str) -> None:
    before = too_large(node)
    produce(node, topic, b"before", bytes(17 * MIB), b"after")
    client.ask(m.Subscribe("", topic, f"{topic}-g"))
    assert [item.body for item in client.items(2)] == [b"before", b"after"]
    assert too_large(node) == before + 1
    assert b"cannot be pushed and is skipped" in node.log_file.read_bytes()


def test_a_dead_letter_that_its_topic_does_not_take_has_no_body(shop: Shop) -> None:
    body = b"bad" + bytes(3 * MIB)
    produce(shop.node, shop.topic, body)
    with shop.member() as member:
        refuse(member)
        (letter,) = shop.wait_for_dead_letters()
        shop.wait_until_done(1)
    headers = dict(letter.headers)
    assert (letter.key, letter.value) == (b"k", b"")
    assert headers["dead-letter-body"] == b"left out: %d bytes, which this topic does not take" % len(body)
    assert (headers["dead-letter-topic"], headers["dead-letter-offset"]) == (shop.topic.encode(), b"0")
    assert metric(shop.node, "penstock_push_dead_letters_waiting") == 0


def test_a_dead_letter_that_its_topic_never_takes_is_given_up(shop: Shop, client: PushClient) -> None:
    before = too_large(shop.node)
    client.ask(m.CreateTopic(shop.dead, 1))
    shop.set_config("max.message.bytes", "100")
    shop.publish(b"bad")
    with shop.member() as member:
        refuse(member)
        shop.wait_until_done(1)
    assert shop.dead_letters() == []
    assert too_large(shop.node) == before + 1
    assert metric(shop.node, "penstock_push_dead_letters_waiting") == 0


@pytest.mark.full
def test_members_that_do_not_read_large_messages_take_a_bounded_room_and_have_to_go(
    node: PenstockProcess, connect: Connect, topic: str
) -> None:
    """Any number of members could be sent 8 MiB each of a batch of a few kilobytes."""
    body = bytes(8 * MIB)
    produce(node, topic, body)
    for number in range(5):
        connect().send(m.Subscribe("", topic, f"{topic}-deaf-{number}"))
    wait_until(lambda: metric(node, "penstock_push_members") >= 5, what="all are members")
    wait_until(lambda: metric(node, "penstock_held_bytes") > ROOM_BYTES, what="the room is used up")
    wait_until(lambda: BROKEN in node.log_file.read_bytes(), what="the first is disconnected")
    assert metric(node, "penstock_held_bytes") < 2 * len(body)
