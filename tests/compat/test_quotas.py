"""Quotas as an administrator sets them with Kafka's tools, and as real producers and consumers feel them."""

import re
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from tests.compat.clients.java import run_tool
from tests.support.broker_process import BrokerProcess
from tests.support.quota_client import FETCH, PRODUCE, quotas_set, values_of
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-02", "F-01")

LIMIT = 100_000
WINDOW_S = 10
RECORD_BYTES = 10_000


@pytest.fixture
def name(client: RawClient) -> Iterator[str]:
    """A client id that may send and receive this much a second."""
    name = unique_name("limited")
    with quotas_set(client, (("client-id", name),), **{PRODUCE: LIMIT, FETCH: LIMIT}):
        yield name


def configs(broker: BrokerProcess, *arguments: str, code: int = 0) -> str:
    return run_tool("kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap, *arguments, code=code)


def test_config_command(broker: BrokerProcess, client: RawClient) -> None:
    """ConfigCommand sets, describes and removes quotas of clients, users and both."""
    who = unique_name("app")
    entity = ("--entity-type", "clients", "--entity-name", who)
    configs(broker, "--alter", *entity, "--add-config", "producer_byte_rate=5000,request_percentage=12.5")
    wait_until(lambda: values_of(client, (("client-id", who),)), what="the quotas are there")
    described = configs(broker, "--describe", *entity)
    assert re.search(rf"Quota configs for client-id '{who}' are .*producer_byte_rate=5000.0", described)
    assert "request_percentage=12.5" in described
    both = ("--entity-type", "users", "--entity-name", who, *entity)
    configs(broker, "--alter", *both, "--add-config", "consumer_byte_rate=7000")
    wait_until(lambda: values_of(client, (("client-id", who), ("user", who))), what="the pair has its own")
    configs(broker, "--alter", *entity, "--delete-config", "producer_byte_rate,request_percentage")
    wait_until(lambda: not values_of(client, (("client-id", who),)), what="they are gone")
    configs(broker, "--alter", *both, "--delete-config", "consumer_byte_rate")
    bad = configs(broker, "--alter", *entity, "--add-config", "producer_byte_rate=-1", code=1)
    assert "must be greater than 0" in bad


def test_a_java_producer_over_its_quota(broker: BrokerProcess, topic: str, name: str) -> None:
    """ProducerPerformance is held at the rate, and its metrics say why."""
    records = int((WINDOW_S + 2) * LIMIT / RECORD_BYTES)
    output = run_tool(
        "ProducerPerformance", "--bootstrap-server", broker.bootstrap, "--topic", topic, "--throughput", "-1",
        "--num-records", str(records), "--record-size", str(RECORD_BYTES), "--print-metrics",
        "--command-property", f"client.id={name}",
    )  # fmt: skip
    assert f"{records} records sent" in output
    throttled = re.search(r"produce-throttle-time-max:\S* *: *([\d.]+)", output)
    assert throttled, output[-3000:]
    assert float(throttled.group(1)) > 0


def test_a_librdkafka_producer_over_its_quota(broker: BrokerProcess, client: RawClient, topic: str, name: str) -> None:
    """It is told by its throttle callback, and all of its messages arrive."""
    waits: list[float] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "client.id": name,
            "throttle_cb": lambda event: waits.append(event.throttle_time),
            "linger.ms": 0,
            "batch.size": 50_000,
        }
    )
    records = int((WINDOW_S + 1) * LIMIT / RECORD_BYTES)
    started = time.monotonic()
    for _ in range(records):
        producer.produce(topic, bytes(RECORD_BYTES))
    assert producer.flush(60) == 0
    assert time.monotonic() - started > 0.5
    producer.poll(0)
    assert max(waits) > 0
    assert client.log_end(topic) == records


def test_a_librdkafka_consumer_over_its_quota(broker: BrokerProcess, client: RawClient, topic: str, name: str) -> None:
    """It gets everything, no faster than it may."""
    records = int((WINDOW_S + 2) * LIMIT / RECORD_BYTES)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for _ in range(records):
        producer.produce(topic, bytes(RECORD_BYTES))
    assert producer.flush(30) == 0
    waits: list[float] = []
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "client.id": name,
            "group.id": unique_name("group"),
            "auto.offset.reset": "earliest",
            "throttle_cb": lambda event: waits.append(event.throttle_time),
            "fetch.message.max.bytes": 200_000,
        }
    )
    consumer.subscribe([topic])
    try:
        got = 0
        deadline = time.monotonic() + 60
        while got < records and time.monotonic() < deadline:
            message = consumer.poll(1.0)
            got += message is not None and message.error() is None
        assert got == records
        assert max(waits) > 0
    finally:
        consumer.close()
