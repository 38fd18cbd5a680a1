"""Manual assignment, commits with notes and without membership, and seeking by time, with every library."""

import asyncio
import subprocess
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.compat.clients import kafkajs
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.java import run_tool
from tests.compat.clients.kcat import kcat
from tests.compat.clients.message import DEADLINE_S, Message
from tests.support.broker_process import BrokerProcess
from tests.support.group_client import committed
from tests.support.raw_client import RawClient, unique_name

pytestmark = pytest.mark.feature("K-08", "F-02")

COUNT = 100
STEP_MS = 1_000
TARGET = 40  # the message that is looked for by its time


@pytest.fixture(scope="module")
def base_ms() -> int:
    return (time.time_ns() // 1_000_000_000 - 1_000) * 1_000


@pytest.fixture(scope="module")
def timed_topic(broker: BrokerProcess, base_ms: int) -> str:
    """Messages a second apart."""
    with RawClient(broker.host, broker.port) as client:
        topic = client.create_topic()
    messages = [Message(value=b"%d" % number, timestamp_ms=base_ms + STEP_MS * number) for number in range(COUNT)]
    ConfluentClient().produce(broker.bootstrap, topic, messages)
    return topic


@pytest.fixture
def wanted_ms(base_ms: int) -> int:
    """Half a second before the target."""
    return base_ms + STEP_MS * TARGET - STEP_MS // 2


# ---------------------------------------------------------------------------------------------- seeking by time


def test_seek_by_time_with_confluent(broker: BrokerProcess, timed_topic: str, wanted_ms: int) -> None:
    """offsets_for_times gives the first offset at or after a time, and reading starts there."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none"})
    (found,) = consumer.offsets_for_times([TopicPartition(timed_topic, 0, wanted_ms)], timeout=10)
    assert found.offset == TARGET
    consumer.assign([found])
    record: Any = consumer.poll(10)
    assert record.value() == b"%d" % TARGET
    consumer.close()


def test_seek_by_time_with_kafka_python(broker: BrokerProcess, timed_topic: str, wanted_ms: int) -> None:
    """kafka-python's offsets_for_times gives offset and timestamp of the record that was found."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap)
    partition = TopicPartition(timed_topic, 0)
    consumer.assign([partition])
    found = consumer.offsets_for_times({partition: wanted_ms})[partition]
    assert (found.offset, found.timestamp) == (TARGET, wanted_ms + STEP_MS // 2)
    consumer.seek(partition, found.offset)
    assert next(consumer).value == b"%d" % TARGET
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: COUNT}
    consumer.close()


def test_seek_by_time_with_aiokafka(broker: BrokerProcess, timed_topic: str, wanted_ms: int) -> None:
    """aiokafka's offsets_for_times gives the same."""
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def look() -> None:
        partition = TopicPartition(timed_topic, 0)
        async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
            consumer.assign([partition])
            found = (await consumer.offsets_for_times({partition: wanted_ms}))[partition]
            assert (found.offset, found.timestamp) == (TARGET, wanted_ms + STEP_MS // 2)
            consumer.seek(partition, found.offset)
            record = await asyncio.wait_for(consumer.getone(), DEADLINE_S)
            assert record.value == b"%d" % TARGET
            assert await consumer.end_offsets([partition]) == {partition: COUNT}

    asyncio.run(look())


def test_seek_by_time_with_kafkajs(broker: BrokerProcess, timed_topic: str, wanted_ms: int) -> None:
    """kafkajs's fetchTopicOffsetsByTimestamp gives the same."""
    group = unique_name("group")
    calls: list[Any] = [
        ["resetOffsets", {"groupId": group, "topic": timed_topic, "earliest": True}],
        ["fetchTopicOffsets", timed_topic],
        ["fetchOffsets", {"groupId": group, "topics": [timed_topic]}],
    ]
    request: dict[str, Any] = {"bootstrap": broker.bootstrap, "calls": calls}
    reset, offsets, fetched = kafkajs.run("admin", request)
    assert "error" not in reset
    assert (offsets["answer"][0]["low"], offsets["answer"][0]["high"]) == ("0", str(COUNT))
    assert int(fetched["answer"][0]["partitions"][0]["offset"]) in (-2, 0)
    wanted = kafkajs.run("offsets_by_time", {**request, "topic": timed_topic, "time": wanted_ms})
    assert wanted[0]["answer"] == [{"partition": 0, "offset": str(TARGET)}]


def test_seek_by_time_with_kcat(broker: BrokerProcess, timed_topic: str, wanted_ms: int) -> None:
    """kcat starts at a time (`-o s@…`), stops at one (`-o e@…`) and asks for the offset (`-Q`)."""
    end_ms = wanted_ms + 3 * STEP_MS
    output = kcat(
        "-C", "-q", "-e", "-b", broker.bootstrap, "-t", timed_topic,
        "-o", f"s@{wanted_ms}", "-o", f"e@{end_ms}",
    )  # fmt: skip
    assert output.split() == [str(TARGET + number) for number in range(3)]
    asked = kcat("-Q", "-b", broker.bootstrap, "-t", f"{timed_topic}:0:{wanted_ms}")
    assert asked.split()[-1] == str(TARGET)


def test_seek_by_time_with_java(broker: BrokerProcess, timed_topic: str, wanted_ms: int) -> None:
    """GetOffsetShell knows times, −1 (latest), −2 (earliest), −3 (largest timestamp) and −4 (earliest local)."""
    expected = {wanted_ms: TARGET, -1: COUNT, -2: 0, -3: COUNT - 1, -4: 0}
    for asked, offset in expected.items():
        output = run_tool(
            "GetOffsetShell", "--bootstrap-server", broker.bootstrap, "--topic", timed_topic, "--time", str(asked)
        )
        assert output.strip() == f"{timed_topic}:0:{offset}"


def test_reset_by_time_with_java(broker: BrokerProcess, client: RawClient, timed_topic: str, wanted_ms: int) -> None:
    """ConsumerGroupCommand resets a group to a time, to the ends, to an offset and by a shift."""
    group = unique_name("group")
    moment = datetime.fromtimestamp(wanted_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    for how, expected in (
        (["--to-datetime", moment], TARGET),
        (["--shift-by", "-15"], TARGET - 15),
        (["--to-latest"], COUNT),
        (["--to-offset", "7"], 7),
        (["--to-earliest"], 0),
    ):
        run_tool(
            "consumer.group.ConsumerGroupCommand", "--bootstrap-server", broker.bootstrap, "--group", group,
            "--topic", timed_topic, "--reset-offsets", "--execute", *how,
        )  # fmt: skip
        assert committed(client, group, timed_topic).committed_offset == expected


# ------------------------------------------------------------------------------- manual assignment and its commits


def test_commit_without_membership_with_confluent(broker: BrokerProcess, client: RawClient, timed_topic: str) -> None:
    """A consumer with a group id but its own assignment commits, with a note, and finds both again."""
    group = unique_name("group")
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(timed_topic, 0, 10)])
    record: Any = consumer.poll(10)
    assert record.offset() == 10
    noted = TopicPartition(timed_topic, 0, 11, metadata="a note, ünï")
    consumer.commit(offsets=[noted], asynchronous=False)
    consumer.close()
    again = Consumer(settings)
    (found,) = again.committed([TopicPartition(timed_topic, 0)], timeout=10)
    assert (found.offset, found.metadata) == (11, "a note, ünï")
    again.assign([TopicPartition(timed_topic, 0, -1000)])  # from the committed offset
    record = again.poll(10)
    assert record.offset() == 11
    again.close()
    stored = committed(client, group, timed_topic).metadata
    assert stored.rstrip("\x00") == "a note, ünï"  # librdkafka's binding sends the end of the C string, too


def test_commit_without_membership_with_kafka_python(
    broker: BrokerProcess, client: RawClient, timed_topic: str
) -> None:
    """The same with kafka-python."""
    from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

    group = unique_name("group")
    partition = TopicPartition(timed_topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id=group, enable_auto_commit=False)
    consumer.assign([partition])
    consumer.seek(partition, 20)
    assert next(consumer).offset == 20
    consumer.commit({partition: OffsetAndMetadata(21, "a note", -1)})
    assert consumer.committed(partition) == 21
    assert consumer.committed(partition, metadata=True).metadata == "a note"
    consumer.close()
    assert committed(client, group, timed_topic).committed_offset == 21


def test_commit_without_membership_with_aiokafka(broker: BrokerProcess, client: RawClient, timed_topic: str) -> None:
    """The same with aiokafka."""
    from aiokafka import AIOKafkaConsumer, TopicPartition

    group = unique_name("group")

    async def commit() -> None:
        partition = TopicPartition(timed_topic, 0)
        async with AIOKafkaConsumer(
            bootstrap_servers=broker.bootstrap, group_id=group, enable_auto_commit=False
        ) as consumer:
            consumer.assign([partition])
            consumer.seek(partition, 30)
            record = await asyncio.wait_for(consumer.getone(), DEADLINE_S)
            assert record.offset == 30
            await consumer.commit({partition: (31, "a note")})
            assert await consumer.committed(partition) == 31

    asyncio.run(commit())
    found = committed(client, group, timed_topic)
    assert (found.committed_offset, found.metadata) == (31, "a note")


def test_starting_points(broker: BrokerProcess, client: RawClient) -> None:
    """Without a committed offset a group starts at the earliest or the latest message, as it is told to."""
    topic = client.create_topic()
    ConfluentClient().produce(broker.bootstrap, topic, [Message(value=b"old")])
    for reset, expected in (("earliest", b"old"), ("latest", b"new")):
        consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": unique_name("group"), "auto.offset.reset": reset}
        )
        consumer.subscribe([topic])
        if reset == "latest":
            deadline = time.monotonic() + DEADLINE_S
            while not consumer.assignment() and time.monotonic() < deadline:
                consumer.poll(0.1)
            consumer.position(consumer.assignment())
            assert consumer.poll(1.0) is None
            ConfluentClient().produce(broker.bootstrap, topic, [Message(value=b"new")])
        record: Any = consumer.poll(DEADLINE_S)
        assert record.value() == expected
        consumer.close()


def test_a_reader_below_the_log_start_is_reset(broker: BrokerProcess, client: RawClient) -> None:
    """A reader whose offset was deleted is told so and goes on where its reset policy says."""
    topic = client.create_topic()
    messages = [Message(value=b"%d" % number) for number in range(10)]
    ConfluentClient().produce(broker.bootstrap, topic, messages)
    client.delete_records(topic, 6)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, 0, 2)])
    record: Any = consumer.poll(DEADLINE_S)
    assert record.offset() == 6
    consumer.close()


def test_kcat_in_a_group_commits(broker: BrokerProcess, client: RawClient, timed_topic: str) -> None:
    """kcat as the member of a group (`-G`) reads everything and leaves its offset behind."""
    group = unique_name("group")
    done = subprocess.run(
        ["kcat", "-b", broker.bootstrap, "-G", group, "-q", "-e", "-X", "auto.offset.reset=earliest",
         "-c", str(COUNT), timed_topic],
        capture_output=True, timeout=DEADLINE_S, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [b"%d" % number for number in range(COUNT)]
    assert committed(client, group, timed_topic).committed_offset == COUNT
