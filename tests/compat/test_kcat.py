"""kcat beyond writing and reading: metadata, offsets from the end, keys and partitions."""

import json

import pytest

from tests.compat.clients.kcat import kcat
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name

pytestmark = pytest.mark.feature("F-02", "K-01")


def test_metadata(broker: BrokerProcess, client: RawClient) -> None:
    """`kcat -L` shows broker, controller and partitions."""
    topic = client.create_topic(partitions=3)
    listed = json.loads(kcat("-L", "-J", "-b", broker.bootstrap, "-t", topic))
    assert listed["brokers"][0]["name"] == broker.bootstrap
    (found,) = listed["topics"]
    assert found["topic"] == topic
    assert [each["partition"] for each in found["partitions"]] == [0, 1, 2]


def test_auto_creation(broker: BrokerProcess, client: RawClient) -> None:
    """Writing to a topic that does not exist creates it."""
    topic = unique_name("auto")
    kcat("-P", "-b", broker.bootstrap, "-t", topic, stdin="hello\n")
    assert kcat("-C", "-e", "-q", "-b", broker.bootstrap, "-t", topic) == "hello\n"


def test_offsets_from_the_end(broker: BrokerProcess, topic: str) -> None:
    """`-o -3` reads the last three, `-o 2 -c 2` two from an offset."""
    kcat("-P", "-b", broker.bootstrap, "-t", topic, stdin="".join(f"{number}\n" for number in range(10)))
    assert kcat("-C", "-e", "-q", "-b", broker.bootstrap, "-t", topic, "-o", "-3").split() == ["7", "8", "9"]
    two = kcat("-C", "-q", "-b", broker.bootstrap, "-t", topic, "-o", "2", "-c", "2")
    assert two.split() == ["2", "3"]


def test_keys_choose_partitions(broker: BrokerProcess, client: RawClient) -> None:
    """The same key always lands in the same partition, and several keys use several partitions."""
    topic = client.create_topic(partitions=4)
    lines = "".join(f"key {number % 8}\tvalue {number}\n" for number in range(80))
    kcat("-P", "-b", broker.bootstrap, "-t", topic, "-K", "\t", stdin=lines)
    output = kcat("-C", "-e", "-q", "-b", broker.bootstrap, "-t", topic, "-f", "%k|%p\n")
    pairs = {tuple(line.split("|")) for line in output.splitlines()}
    assert len(pairs) == 8
    assert len({partition for _, partition in pairs}) > 1


def test_a_large_stream(broker: BrokerProcess, client: RawClient, topic: str) -> None:
    """A hundred thousand lines go in and come out the same, through many batches."""
    lines = "".join(f"line number {number}\n" for number in range(100_000))
    kcat("-P", "-b", broker.bootstrap, "-t", topic, "-z", "snappy", stdin=lines)
    assert client.log_end(topic) == 100_000
    assert kcat("-C", "-e", "-q", "-b", broker.bootstrap, "-t", topic) == lines
