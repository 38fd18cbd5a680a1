"""Rows that clients make by publishing: a hostile one cannot make many of them, and cannot end another's epochs."""

from __future__ import annotations

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from tests.push.conftest import Connect
from tests.support.push_client import PushClient, PushRefused

pytestmark = pytest.mark.feature("Q-04")

CONFIG = "push: {producers_max: 20}\n"


def publish(client: PushClient, client_id: str, topic: str, sequence: int = 0) -> int:
    return int(client.ask(m.Publish(client_id, 1, sequence, topic, 0, None, b"x")).offset)


def test_client_ids_without_end(client: PushClient, connect: Connect, topic: str) -> None:
    publish(client, "honest", topic)
    hostile = connect()
    for client_id in ("x" * 250, "x" * 32_000):
        with pytest.raises(PushRefused, match="249 bytes") as refused:
            publish(hostile, client_id, topic)
        assert refused.value.code == ErrorCode.INVALID_REQUEST
    for number in range(100):  # none of these makes a row
        with pytest.raises(PushRefused) as refused:
            publish(hostile, f"nowhere-{number}", "no-such-topic")
        assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for number in range(19):
        publish(hostile, f"h-{number}", topic)
    for number in range(19, 40):
        with pytest.raises(PushRefused, match=r"push\.producers_max") as refused:
            publish(hostile, f"h-{number}", topic)
        assert refused.value.code == ErrorCode.POLICY_VIOLATION
    offset = publish(client, "honest", topic, 1)
    assert publish(connect(), "honest", topic, 1) == offset  # still each message once
