"""Every client writes with every codec and every kind of acknowledgement, and what is stored is what it sent."""

import pytest

from tests.compat.clients.aio import AioClient
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.java import JavaConsoleClient
from tests.compat.clients.kafka_python import KafkaPythonClient
from tests.compat.clients.kafkajs import KafkaJsClient
from tests.compat.clients.kcat import KcatClient
from tests.compat.clients.message import CODECS, Client, Message
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-02", "P-20", "K-02")

CLIENTS: list[Client] = [
    ConfluentClient(),
    AioClient(),
    KafkaPythonClient(),
    KafkaJsClient(),
    KcatClient(),
    JavaConsoleClient(),
]
COUNT = 50
CASES = [
    pytest.param(writer, codec, id=f"{writer.name} {codec}")
    for writer in CLIENTS
    for codec in CODECS
    if (writer.name, codec) != ("kafkajs", "lz4")  # there is no lz4 for kafkajs that Kafka itself can read
]


@pytest.mark.parametrize("acks", [-1, 1, 0])
@pytest.mark.parametrize(("writer", "codec"), CASES)
def test_produce(broker: BrokerProcess, client: RawClient, topic: str, writer: Client, codec: str, acks: int) -> None:
    """Messages of a client arrive once, in order, and with the configured compression."""
    messages = [Message(key=b"%d" % number, value=b"value %d " % number * 20) for number in range(COUNT)]
    writer.produce(broker.bootstrap, topic, messages, codec=codec, acks=acks)
    wait_until(lambda: client.log_end(topic) >= COUNT, what="everything has arrived")
    stored = client.fetch_batches(topic)
    assert [(record.key, record.value) for batch in stored for record in batch.records] == [
        (message.key, message.value) for message in messages
    ]
    assert {batch.codec for batch in stored} == {CODECS.index(codec)}
    assert all(batch.crc_is_right for batch in stored)
