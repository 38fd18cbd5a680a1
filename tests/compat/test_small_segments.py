"""Reading a log of many small segments with a real client that asks for much at a time."""

import json
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.compat.clients.message import DEADLINE_S
from tests.support import batches
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("F-01")

SEGMENTS = 10
MESSAGES = 3 * SEGMENTS
MESSAGE_BYTES = 300_000  # three of these to a segment


@pytest.mark.usefixtures("penstock_only")
def test_librdkafka_needs_few_requests(broker: BrokerProcess, client: RawClient) -> None:
    """Ten segments come in far fewer answers, whole and in order."""
    topic = client.create_topic(configs={"segment.bytes": str(1 << 20)})
    for number in range(MESSAGES):
        client.appended(topic, batches.values(f"{number:06}" * (MESSAGE_BYTES // 6)))
    requests: list[int] = []

    def note(statistics: str) -> None:
        requests.append(sum(one["req"].get("Fetch", 0) for one in json.loads(statistics)["brokers"].values()))

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": topic,
            "fetch.message.max.bytes": 4 << 20,
            "fetch.wait.max.ms": 10_000,
            "statistics.interval.ms": 100,
            "stats_cb": note,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        values: list[bytes] = []
        deadline = time.monotonic() + DEADLINE_S
        while (len(values) < MESSAGES or not requests) and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None
                values.append((message.value() or b"")[:6])
        seen = len(requests)
        while len(requests) == seen and time.monotonic() < deadline:
            consumer.poll(0.1)  # for figures from after the last message
    finally:
        consumer.close()
    assert values == [b"%06d" % number for number in range(MESSAGES)]
    assert requests[-1] < SEGMENTS / 2
