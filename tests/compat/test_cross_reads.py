"""Every client reads the messages of every other one: the same bytes, keys, headers, times and offsets."""

from dataclasses import replace

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

pytestmark = pytest.mark.feature("F-02", "K-01")

LIBRARIES: list[Client] = [ConfluentClient(), AioClient(), KafkaPythonClient(), KafkaJsClient()]
COMMANDS: list[Client] = [KcatClient(), JavaConsoleClient()]
EVERYBODY = LIBRARIES + COMMANDS
CODEC_OF = {"confluent-kafka": "zstd", "aiokafka": "gzip", "kafka-python": "snappy", "kafkajs": "gzip"}

BASE_TIME_MS = 1_700_000_000_000

# Text that every command line can carry: keys, one header each, no empty values.
TEXT = [
    Message(
        key=f"key {number % 7}".encode(),
        value=f"värde {number} €".encode(),
        headers=(("trace", b"abc"), ("number", b"%d" % (number // 10))),
    )
    for number in range(30)
]

# Everything a record can hold, for the libraries.
RICH = [
    Message(key=None, value=b"no key", timestamp_ms=BASE_TIME_MS),
    Message(key=b"", value=b"empty key", timestamp_ms=BASE_TIME_MS + 1),
    Message(key=b"k", value=None, timestamp_ms=BASE_TIME_MS + 5_000),
    Message(key=b"k", value=b"", timestamp_ms=BASE_TIME_MS + 3),
    Message(key=bytes(range(256)), value=bytes(range(255, -1, -1)) * 10, timestamp_ms=BASE_TIME_MS + 4),
    Message(
        key=b"h",
        value=b"headers",
        headers=(("a", b"1"), ("b", b""), ("binary", b"\x00\xff\xfe"), ("ünï", "çödé".encode())),
        timestamp_ms=BASE_TIME_MS + 6,
    ),
    Message(key=b"big", value=b"0123456789" * 50_000, timestamp_ms=BASE_TIME_MS + 7),
]


@pytest.fixture(scope="module")
def written(broker: BrokerProcess) -> dict[tuple[str, str], str]:
    """One topic for each writer and kind of messages."""
    topics: dict[tuple[str, str], str] = {}
    with RawClient(broker.host, broker.port) as client:
        for writer in EVERYBODY:
            topics[writer.name, "text"] = client.create_topic()
            writer.produce(broker.bootstrap, topics[writer.name, "text"], TEXT)
        for writer in LIBRARIES:
            topics[writer.name, "rich"] = client.create_topic(configs={"retention.ms": "-1"})
            writer.produce(broker.bootstrap, topics[writer.name, "rich"], RICH, codec=CODEC_OF[writer.name])
    return topics


@pytest.mark.parametrize("reader", EVERYBODY, ids=lambda each: f"read by {each.name}")
@pytest.mark.parametrize("writer", EVERYBODY, ids=lambda each: f"written by {each.name}")
def test_text(broker: BrokerProcess, written: dict[tuple[str, str], str], writer: Client, reader: Client) -> None:
    """Text with keys and headers is the same for every pair of clients, in order, with rising offsets."""
    found = reader.consume(broker.bootstrap, written[writer.name, "text"], len(TEXT))
    assert [replace(message.as_written(), timestamp_ms=None) for message in found] == TEXT
    assert [message.offset for message in found] == list(range(len(TEXT)))
    assert all((message.timestamp_ms or 0) > BASE_TIME_MS for message in found)


@pytest.mark.parametrize("reader", LIBRARIES, ids=lambda each: f"read by {each.name}")
@pytest.mark.parametrize("writer", LIBRARIES, ids=lambda each: f"written by {each.name}")
def test_bytes_nulls_and_times(
    broker: BrokerProcess, written: dict[tuple[str, str], str], writer: Client, reader: Client
) -> None:
    """Null and empty keys and values, any bytes, any headers and the writer's times survive every pair."""
    found = reader.consume(broker.bootstrap, written[writer.name, "rich"], len(RICH))
    assert [message.as_written() for message in found] == RICH


@pytest.mark.feature("P-20")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("reader", EVERYBODY, ids=lambda each: f"read by {each.name}")
def test_every_codec(broker: BrokerProcess, client: RawClient, topic: str, codec: str, reader: Client) -> None:
    """Batches of every codec can be read by every client."""
    if (reader.name, codec) == ("kafkajs", "lz4"):
        pytest.skip("kafkajs has no lz4 of its own")
    ConfluentClient().produce(broker.bootstrap, topic, TEXT, codec=codec)
    assert {batch.codec for batch in client.fetch_batches(topic)} == {CODECS.index(codec)}
    found = reader.consume(broker.bootstrap, topic, len(TEXT))
    assert [replace(message.as_written(), timestamp_ms=None) for message in found] == TEXT
