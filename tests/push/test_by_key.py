"""Delivery by key: a key is at one member at a time, and does not stay with one that is stuck."""

from __future__ import annotations

import pytest

from penstock.protocol.push import messages as m
from tests.push.conftest import Connect
from tests.support.push_client import PushClient

pytestmark = pytest.mark.feature("P-08", "Q-02")

CONFIG = """\
push:
  ack_timeout_ms: 5000
"""
KEYS = [f"k{number}".encode() for number in range(20)]


def take(reader: PushClient) -> list[bytes]:
    """The keys of what comes next, which is acknowledged; nothing if nothing comes."""
    try:
        data = reader.data(0.1)
    except TimeoutError:
        return []
    reader.acknowledge(data)
    return [item.key or b"" for item in data.items]


@pytest.fixture
def readers(client: PushClient, connect: Connect, topic: str) -> list[PushClient]:
    """Two members of a subscription, with three messages of each key before them."""
    name = f"{topic}-keyed"
    client.ask(m.CreateSubscription(name, topic, delivery=m.Delivery.KEY))
    found = [connect(), connect()]
    for reader in found:
        reader.ask(m.Subscribe(name))
    for key in KEYS * 3:
        client.publish(topic, key, key=key)
    return found


def test_a_key_stays_with_one_member(readers: list[PushClient]) -> None:
    seen: list[set[bytes]] = [set(), set()]
    total = 0
    while total < 3 * len(KEYS):
        for reader, mine in zip(readers, seen, strict=True):
            keys = take(reader)
            mine.update(keys)
            total += len(keys)
    assert total == 3 * len(KEYS)
    assert seen[0].isdisjoint(seen[1])
    assert all(seen)


def test_what_a_stuck_member_has_goes_to_another_with_all_of_its_keys(readers: list[PushClient]) -> None:
    willing, stuck = readers
    done: list[bytes] = []
    while len(done) < 3 * len(KEYS):
        done += take(willing)
    assert sorted(done) == sorted(KEYS * 3)
    assert stuck.data().items
