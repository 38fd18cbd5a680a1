"""Delivery counts survive the broker, so that a message that kills its members becomes a dead letter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.protocol.push import messages as m
from penstock.protocol.push.data import Verdict
from tests.push.shop import Shop
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
FULL_DISK = CONFIG + "storage:\n  reserve_bytes: 0\n  min_free_bytes: 1000000000000000\n"


def started(directory: Path, config: str = CONFIG) -> PenstockProcess:
    node = PenstockProcess(directory, config)
    node.prepare()
    node.start()
    return node


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    node = started(tmp_path)
    with PushClient(node.push_port) as client:
        client.ask(m.CreateTopic("orders", 1))
    yield Shop(node, "orders")
    node.kill9()


def test_a_poison_message_dies_although_the_broker_is_killed_after_every_delivery(shop: Shop) -> None:
    shop.publish(b"good", b"good", b"bad")
    for count in (1, 2, 3):
        assert shop.crash().delivery_count == count
        if count < 3:
            shop.wait_until_counted(count)
        shop.node.kill9()
        shop.node.start()
    # Whether the third delivery was counted before the kill is a matter of milliseconds: if not, it comes once more.
    with shop.member() as last:
        last.is_silent(1.0)
    (letter, *_) = shop.wait_for_dead_letters()
    assert (letter.value, dict(letter.headers)["dead-letter-deliveries"]) == (b"bad", b"3")
    shop.publish(b"next")
    with shop.member() as survivor:
        (item,) = survivor.data().items
        assert (item.body, item.delivery_count) == (b"next", 1)


def test_counts_survive_a_clean_stop(shop: Shop) -> None:
    shop.publish(b"bad")
    with shop.member() as member:
        assert member.data().items[0].delivery_count == 1
        shop.node.restart()  # it was sent, and is not done
    assert shop.crash().delivery_count == 2


def test_while_the_disk_is_full_nobody_gets_a_dead_message_and_the_others_are_delivered(
    shop: Shop, tmp_path: Path
) -> None:
    shop.publish(b"bad", b"good")
    shop.node.stop()
    full = Shop(started(tmp_path, FULL_DISK), "orders")
    try:
        with full.member() as member:
            data = member.data()
            member.acknowledge(data, Verdict.DONE, data.items[1])
            for count in (2, 3):
                member.acknowledge(data, Verdict.NOT_DONE, data.items[0])
                data = member.data()
                assert [item.delivery_count for item in data.items] == [count]
            member.acknowledge(data, Verdict.NOT_DONE)
            wait_until(lambda: metric(full.node, "penstock_push_dead_letters_waiting") == 1, what="it waits")
            assert member.is_silent(1.5)
            assert full.position() == 0
        full.wait_until_counted(3)
    finally:
        full.node.kill9()
    assert b"nearly full" in full.node.log_file.read_bytes()
    roomy = Shop(started(tmp_path), "orders")
    try:
        with roomy.member() as member:
            (letter,) = roomy.wait_for_dead_letters()
            assert letter.value == b"bad"
            assert member.is_silent()
        roomy.wait_until_done(2)
    finally:
        roomy.node.stop()
