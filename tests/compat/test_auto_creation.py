"""Automatic creation of topics: a client asks for one, gets an error, and finds it when it asks again."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.message import Client, Message
from tests.compat.test_codecs_and_acks import CLIENTS
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-02", "K-02")

COUNT = 10


@pytest.mark.parametrize("acks", [-1, 0])
@pytest.mark.parametrize("writer", CLIENTS, ids=lambda each: each.name)
def test_the_first_message_creates_the_topic(
    broker: BrokerProcess, client: RawClient, writer: Client, acks: int
) -> None:
    """A producer's first messages make the topic; all of them arrive, and the same client reads them."""
    topic = unique_name("first")
    messages = [Message(key=b"%d" % number, value=b"value %d" % number) for number in range(COUNT)]
    writer.produce(broker.bootstrap, topic, messages, acks=acks)
    wait_until(lambda: client.log_end(topic) >= COUNT, what="everything has arrived")
    read = writer.consume(broker.bootstrap, topic, COUNT)
    assert [(each.key, each.value) for each in read] == [(each.key, each.value) for each in messages]


# These end where a topic is unknown, which the one that is made by asking for it is at first, on Apache Kafka, too.
IMPATIENT = {"kcat", "kafkajs"}
WAITING = [each for each in CLIENTS if each.name not in IMPATIENT]


@pytest.mark.parametrize("reader", WAITING, ids=lambda each: each.name)
def test_a_reader_may_come_first(broker: BrokerProcess, reader: Client) -> None:
    """A consumer waits for messages of a topic that is created meanwhile."""
    topic = unique_name("later")
    messages = [Message(key=b"%d" % number, value=b"value %d" % number) for number in range(COUNT)]
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(reader.consume, broker.bootstrap, topic, COUNT)
        with pytest.raises(TimeoutError):
            reading.result(timeout=1.0)
        ConfluentClient().produce(broker.bootstrap, topic, messages)
        assert [(each.key, each.value) for each in reading.result()] == [(each.key, each.value) for each in messages]
