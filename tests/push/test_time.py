"""Heartbeats, and messages whose time is over."""

from __future__ import annotations

import time

import pytest

from penstock.protocol.push import messages as m
from penstock.protocol.push.frames import FrameSplitter, FrameType
from tests.push.conftest import Connect
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient

INTERVAL_S = 1.0
CONFIG = """\
push:
  heartbeat_interval_ms: 1000
"""


@pytest.mark.feature("P-08")
def test_the_broker_sends_heartbeats_and_notices_dead_peers(connect: Connect) -> None:
    silent = connect()
    silent.socket.sendall(m.encode(m.Heartbeat()))  # one that never says anything is dropped earlier
    started = time.monotonic()
    splitter, beats, last = FrameSplitter(), 0, None
    while True:
        received = silent.socket.recv(1 << 16)
        if not received:
            break
        for frame in splitter.feed(received):
            beats += frame.type is FrameType.HEARTBEAT
            last = frame
    took = time.monotonic() - started
    assert 2 <= beats <= 3
    assert last is not None
    assert last.type is FrameType.ERROR
    assert b"HEARTBEAT" in last.payload
    assert 2 * INTERVAL_S < took < 20 * INTERVAL_S


@pytest.mark.feature("P-08")
def test_a_client_that_sends_heartbeats_lives_on(connect: Connect, topic: str) -> None:
    living = connect()
    for _ in range(8):
        living.send(m.Heartbeat(), 0)
        living.is_silent(INTERVAL_S * 0.5)
    assert living.publish(topic, b"still here") == [0]


@pytest.mark.feature("P-23")
def test_an_expired_message_is_not_pushed_and_offsets_move_on(
    client: PushClient, connect: Connect, node: PenstockProcess, topic: str
) -> None:
    before = metric(node, "penstock_expired_messages_total")
    old = int(time.time() * 1000) - 10_000
    client.publish(topic, b"expired", timestamp=old, properties=((b"ttl-ms", b"5000"),))
    client.publish(topic, b"alive", timestamp=old, properties=((b"ttl-ms", b"3600000"),))
    client.publish(topic, b"no number", timestamp=old, properties=((b"ttl-ms", b"soon"),))
    client.publish(topic, b"expired, too", timestamp=old, properties=((b"ttl-ms", b"0"),))
    reader = connect()
    reader.ask(m.Subscribe("", topic, "ttl"))
    assert [item.body for item in reader.items(2)] == [b"alive", b"no number"]
    assert reader.is_silent()
    assert metric(node, "penstock_expired_messages_total") == before + 2
