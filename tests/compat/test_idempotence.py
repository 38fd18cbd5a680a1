"""Idempotent producers of every kind while their broker is killed and starts again: nothing lost, nothing twice."""

import asyncio
import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.compat.clients import kafkajs
from tests.compat.clients.java import tool_command
from tests.compat.clients.message import Message
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("X-02", "F-02", "X-01"), pytest.mark.timeout(240)]

COUNT = 3_000
PACE_S = 0.002  # so that the kill comes in the middle
RECOVERED_WITHIN_S = 120.0


def values() -> Iterator[bytes]:
    for number in range(COUNT):
        time.sleep(PACE_S)
        yield b"%d" % number


def produce_with_confluent(bootstrap: str, topic: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": "lz4",
            "reconnect.backoff.max.ms": 500,
        }
    )
    failures: list[Any] = []

    def report(error: Any, _: Any) -> None:
        if error is not None:
            failures.append(error)

    for value in values():
        producer.produce(topic, value, partition=0, on_delivery=report)
        producer.poll(0)
    assert producer.flush(RECOVERED_WITHIN_S) == 0
    assert not failures


def produce_with_aiokafka(bootstrap: str, topic: str) -> None:
    from aiokafka import AIOKafkaProducer

    async def produce() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            enable_idempotence=True,
            request_timeout_ms=int(RECOVERED_WITHIN_S * 1000),
            retry_backoff_ms=200,
        )
        async with producer:
            sent = []
            for number in range(COUNT):
                await asyncio.sleep(PACE_S)
                sent.append(await producer.send(topic, b"%d" % number, partition=0))
            await asyncio.gather(*sent)

    asyncio.run(produce())


def produce_with_kafka_python(bootstrap: str, topic: str) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=True,
        delivery_timeout_ms=int(RECOVERED_WITHIN_S * 1000),
        reconnect_backoff_max_ms=500,
    )
    sent = [producer.send(topic, value, partition=0) for value in values()]
    producer.flush(RECOVERED_WITHIN_S)
    for each in sent:
        each.get(RECOVERED_WITHIN_S)
    producer.close()


def produce_with_kafkajs(bootstrap: str, topic: str) -> None:
    messages = [kafkajs.message_in(Message(value=b"%d" % number)) for number in range(COUNT)]
    request = {"bootstrap": bootstrap, "topic": topic, "codec": "none", "acks": -1, "idempotent": True}
    done = subprocess.run(
        kafkajs.command("produce"),
        input=json.dumps({**request, "messages": messages, "batch": 2}).encode(),
        capture_output=True,
        timeout=RECOVERED_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def produce_with_java(bootstrap: str, topic: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as settings:
        settings.write("enable.idempotence=true\nretries=2147483647\n")  # the tool's own default is no retries
        settings.flush()
        done = subprocess.run(
            tool_command(
                "VerifiableProducer", "--bootstrap-server", bootstrap, "--topic", topic,
                "--max-messages", str(COUNT), "--throughput", str(int(1 / PACE_S)),
                "--command-config", settings.name,
            ),
            capture_output=True,
            timeout=RECOVERED_WITHIN_S,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    acknowledged = [event for event in events if event["name"] == "producer_send_success"]
    assert len(acknowledged) == COUNT


PRODUCERS: dict[str, Callable[[str, str], None]] = {
    "confluent-kafka": produce_with_confluent,
    "aiokafka": produce_with_aiokafka,
    "kafka-python": produce_with_kafka_python,
    "kafkajs": produce_with_kafkajs,
    "java": produce_with_java,
}


def stored_values(client: RawClient, topic: str) -> list[bytes | None]:
    found: list[bytes | None] = []
    position, end = 0, client.log_end(topic)
    while position < end:
        records = client.fetch_records(topic, position)
        assert records
        found += [record.value for record in records if record.offset >= position]
        position = records[-1].offset + 1
    return found


@pytest.mark.parametrize("name", sorted(PRODUCERS))
def test_a_killed_broker_loses_and_doubles_nothing(own_broker: BrokerProcess, name: str) -> None:
    """The broker is killed twice while an idempotent producer writes; then every message is there once, in order."""
    with RawClient(own_broker.host, own_broker.port) as client:
        topic = client.create_topic()
    failures: list[BaseException] = []

    def produce() -> None:
        try:
            PRODUCERS[name](own_broker.bootstrap, topic)
        except BaseException as error:  # a thread's failure must reach the test
            failures.append(error)

    producing = threading.Thread(target=produce)
    producing.start()
    for share in (0.2, 0.6):
        wait_for_progress(own_broker, topic, int(COUNT * share), producing)
        own_broker.kill9()
        own_broker.start()
    producing.join(RECOVERED_WITHIN_S)
    assert not producing.is_alive()
    assert not failures, failures
    with RawClient(own_broker.host, own_broker.port) as client:
        client.wait_for_topic(topic, 1)
        assert stored_values(client, topic) == [b"%d" % number for number in range(COUNT)]


def wait_for_progress(broker: BrokerProcess, topic: str, messages: int, producing: threading.Thread) -> None:
    """Wait until the log has grown to this many messages, or the producer has ended."""
    with RawClient(broker.host, broker.port) as client:
        client.wait_for_topic(topic, 1)
        wait_until(
            lambda: client.log_end(topic) >= messages or not producing.is_alive(),
            what=f"{messages} messages are stored",
            within_s=RECOVERED_WITHIN_S,
        )


def test_a_producer_goes_on_after_an_ordinary_restart(own_broker: BrokerProcess) -> None:
    """A producer that stays alive over a restart of its broker goes on with the same id and epoch."""
    with RawClient(own_broker.host, own_broker.port) as client:
        topic = client.create_topic()
    producer = Producer({"bootstrap.servers": own_broker.bootstrap, "enable.idempotence": True})
    for value in (b"before", b"after"):
        producer.produce(topic, value, partition=0)
        assert producer.flush(RECOVERED_WITHIN_S) == 0
        if value == b"before":
            own_broker.restart()
    with RawClient(own_broker.host, own_broker.port) as client:
        client.wait_for_topic(topic, 1)
        found = client.fetch_batches(topic)
        assert [record.value for batch in found for record in batch.records] == [b"before", b"after"]
        assert len({(batch.producer_id, batch.producer_epoch) for batch in found}) == 1
