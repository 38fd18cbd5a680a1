"""Published over the push protocol, read by Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from penstock import BrokerClient
from tests.support.broker_process import BrokerProcess


@pytest.mark.spark
@pytest.mark.feature("Q-04")
@pytest.mark.timeout(600)
def test_what_was_published_is_a_table(
    broker: BrokerProcess, topic: str, read: Callable[..., DataFrame], penstock_only: None
) -> None:
    with BrokerClient(broker.host, broker.port) as client:
        client.publish(topic, "187.20", key="AAPL", properties={"source": "push"})
        client.publish(topic, None, key="gone")
        client.publish(topic, b"\x00\xff")
    rows = read(subscribe=topic, includeHeaders="true").orderBy("offset").collect()
    values = [(_bytes(row.key), _bytes(row.value), row.offset) for row in rows]
    assert values == [(b"AAPL", b"187.20", 0), (b"gone", None, 1), (None, b"\x00\xff", 2)]
    assert [(header.key, _bytes(header.value)) for header in rows[0].headers] == [("source", b"push")]


def _bytes(value: bytearray | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)
