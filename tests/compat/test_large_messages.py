"""Messages close to the limit, above it, and limits that a topic sets for itself."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError as AioTooLarge
from confluent_kafka import KafkaError, Producer
from kafka import KafkaProducer
from kafka.errors import MessageSizeTooLargeError

from tests.compat.clients import kafkajs
from tests.compat.clients.aio import AioClient
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.java import run_tool
from tests.compat.clients.kafka_python import KafkaPythonClient
from tests.compat.clients.kafkajs import KafkaJsClient
from tests.compat.clients.message import Client, Message
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("F-02", "K-13")

CLIENTS: list[Client] = [ConfluentClient(), AioClient(), KafkaPythonClient(), KafkaJsClient()]
CLOSE_TO_THE_LIMIT = 1_048_588 - 700
OWN_LIMIT = 8_000_000
TOO_LARGE = 1_500_000


@pytest.mark.parametrize("each", CLIENTS, ids=lambda each: each.name)
def test_close_to_the_limit(broker: BrokerProcess, topic: str, each: Client) -> None:
    """A message a few hundred bytes below the default limit goes through and comes back whole."""
    value = bytes(number % 251 for number in range(1_047_000))
    if each.name == "confluent-kafka":
        value = value[:999_000]  # librdkafka has a limit of its own, 1,000,000
    each.produce(broker.bootstrap, topic, [Message(value=value)])
    (found,) = each.consume(broker.bootstrap, topic, 1)
    assert found.value == value


def test_a_larger_limit_of_the_topic(broker: BrokerProcess, client: RawClient) -> None:
    """A topic may allow larger messages, and readers with small fetch limits get them all the same."""
    topic = client.create_topic(configs={"max.message.bytes": str(OWN_LIMIT)})
    value = bytes(number % 251 for number in range(OWN_LIMIT - 1_000))
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.max.bytes": OWN_LIMIT})
    producer.produce(topic, value)
    assert producer.flush(30) == 0
    for each in CLIENTS:
        (found,) = each.consume(broker.bootstrap, topic, 1)
        assert found.value == value, each.name


def test_too_large_for_confluent(broker: BrokerProcess, topic: str) -> None:
    """librdkafka is told MSG_SIZE_TOO_LARGE by the broker."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.max.bytes": 2 * TOO_LARGE})
    reported: list[KafkaError | None] = []
    producer.produce(topic, b"x" * TOO_LARGE, on_delivery=lambda error, _: reported.append(error))
    producer.flush(30)
    (error,) = reported
    assert error is not None
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE


def test_too_large_for_aiokafka(broker: BrokerProcess, topic: str) -> None:
    """aiokafka is told MessageSizeTooLarge."""

    async def produce() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap, max_request_size=2 * TOO_LARGE) as producer:
            await producer.send_and_wait(topic, b"x" * TOO_LARGE)

    with pytest.raises(AioTooLarge):
        asyncio.run(produce())


def test_too_large_for_kafka_python(broker: BrokerProcess, topic: str) -> None:
    """kafka-python is told MessageSizeTooLarge."""
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap, max_request_size=2 * TOO_LARGE)
    sent = producer.send(topic, b"x" * TOO_LARGE)
    with pytest.raises(MessageSizeTooLargeError):
        sent.get(30)
    producer.close()


def test_too_large_for_kafkajs(broker: BrokerProcess, topic: str) -> None:
    """kafkajs is told MESSAGE_TOO_LARGE."""
    message = kafkajs.message_in(Message(value=b"x" * TOO_LARGE))
    request = {"bootstrap": broker.bootstrap, "topic": topic, "codec": "none", "acks": -1}
    with pytest.raises(AssertionError, match="MESSAGE_TOO_LARGE"):
        kafkajs.run("produce", {**request, "messages": [message]})


def test_too_large_for_java(broker: BrokerProcess, topic: str, client: RawClient) -> None:
    """The Java producer is told RecordTooLargeException, and nothing is stored."""
    output = run_tool(
        "ProducerPerformance", "--topic", topic, "--num-records", "1", "--record-size", str(TOO_LARGE),
        "--throughput", "-1", "--bootstrap-server", broker.bootstrap,
        "--command-property", f"max.request.size={2 * TOO_LARGE}", code=None,
    )  # fmt: skip
    assert "RecordTooLargeException" in output
    assert client.log_end(topic) == 0
