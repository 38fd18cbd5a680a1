"""librdkafka logs in with every mechanism, writes and reads; with a wrong password clients get their own error for it.

`tests/compat/secured` has more clients, and sessions that end under load.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError
from kio.schema.errors import ErrorCode

from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import unique_name
from tests.support.sasl_client import PLAIN, SCRAM_256, SCRAM_512, SaslClient
from tests.support.sasl_process import USERS
from tests.support.user_client import SHA_512, alter, upsertion
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-04", "F-01")

MECHANISMS = [PLAIN, SCRAM_256, SCRAM_512]
PROTOCOL = "SASL_PLAINTEXT"
USER, WITHOUT_IT = "bob", "carol"
"""A user, and a name with which its password is wrong: failures of a user would hold it off in other tests."""
COUNT = 100
MESSAGES = [b"message %d" % number for number in range(COUNT)]


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    with SaslClient(broker.host, broker.port) as client:
        client.scram("alice", USERS["alice"])
        return client.create_topic()


# --- librdkafka ------------------------------------------------------------------------------------------------------


def rdkafka(broker: BrokerProcess, mechanism: str, user: str = USER, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": PROTOCOL,
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": USERS[USER],
        **more,
    }


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka(broker: BrokerProcess, topic: str, mechanism: str) -> None:
    producer = Producer(rdkafka(broker, mechanism))
    for message in MESSAGES:
        producer.produce(topic, message)
    assert producer.flush(30) == 0
    group = {"group.id": unique_name("group"), "auto.offset.reset": "earliest"}
    consumer = Consumer(rdkafka(broker, mechanism, **group))
    consumer.subscribe([topic])
    found: list[bytes | None] = []
    wait_until(lambda: _polled(consumer, found) >= COUNT, what="all messages are read")
    consumer.close()
    assert found == MESSAGES


def _polled(consumer: Consumer, found: list[bytes | None]) -> int:
    found.extend(message.value() for message in consumer.consume(COUNT, 1.0))
    return len(found)


def test_librdkafka_as_a_user_with_a_short_salt(broker: BrokerProcess) -> None:
    """Whoever makes a user chooses the salt, and some tools choose a word."""
    name = unique_name("user")
    with SaslClient(broker.host, broker.port) as client:
        client.scram("alice", USERS["alice"])
        assert alter(client, upsertion(name, SHA_512, password=USERS[USER], salt=b"salt")) == {name: ErrorCode.none}
    assert Producer(rdkafka(broker, SCRAM_512, name)).list_topics(timeout=30).brokers


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_with_a_wrong_password(broker: BrokerProcess, mechanism: str) -> None:
    errors: list[KafkaError] = []
    producer = Producer(rdkafka(broker, mechanism, WITHOUT_IT, error_cb=errors.append))
    wait_until(lambda: producer.poll(0.1) >= 0 and bool(errors), what="the client reports an error")
    assert errors[0].code() == KafkaError._AUTHENTICATION
    with pytest.raises(KafkaException):
        producer.list_topics(timeout=0.5)


# --- kafka-python ----------------------------------------------------------------------------------------------------


def kafka_python(broker: BrokerProcess, mechanism: str, user: str = USER) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": PROTOCOL,
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": USERS[USER],
    }


@pytest.mark.parametrize("mechanism", [PLAIN, SCRAM_256])
def test_kafka_python_with_a_wrong_password(broker: BrokerProcess, mechanism: str) -> None:
    """It tries again until its time is over, and has no error of its own for that."""
    with pytest.raises(KafkaTimeoutError):
        KafkaProducer(**kafka_python(broker, mechanism, WITHOUT_IT), bootstrap_timeout_ms=1_000)


# --- aiokafka: its options have the names of kafka-python's ----------------------------------------------------------


def test_aiokafka_with_a_wrong_password(broker: BrokerProcess) -> None:
    async def connect() -> None:
        producer = AIOKafkaProducer(**kafka_python(broker, SCRAM_256, WITHOUT_IT))
        try:
            await producer.start()
        finally:
            await producer.stop()

    with pytest.raises(AioKafkaError):
        asyncio.run(connect())
