"""Many requests on one connection at once: order, duplicates in flight, clients that do not read, wide requests."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import decode_batches, idempotent
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-01", "F-06")

UNREAD_REQUESTS = 2_000
UNREAD_ANSWER_BYTES = 200_000
UNREAD_MEMORY_BYTES = 200 << 20  # the answers together would be twice that
WIDE_PARTITIONS = 500


@pytest.mark.feature("X-02")
def test_pipelined_batches_of_one_producer(client: RawClient, topic: str) -> None:
    """An idempotent producer may have many batches under way; each is stored once, in order."""
    producer_id, epoch = client.new_producer_id()
    for sequence in range(20):
        client.send("produce", 9, **client.produce_values(topic, idempotent(producer_id, epoch, sequence)))
    answers = [client.receive("produce", 9)[1].responses[0].partition_responses[0] for _ in range(20)]
    assert [(each.error_code, each.base_offset) for each in answers] == [
        (ErrorCode.none, offset) for offset in range(20)
    ]


@pytest.mark.feature("X-02")
def test_a_duplicate_right_behind_the_original(client: RawClient, topic: str) -> None:
    """A batch that is repeated before its first answer is answered with the same offset and stored once."""
    producer_id, epoch = client.new_producer_id()
    sent = [idempotent(producer_id, epoch, sequence) for sequence in (0, 0, 1, 1, 0, 2)]
    for records in sent:
        client.send("produce", 9, **client.produce_values(topic, records))
    answers = [client.receive("produce", 9)[1].responses[0].partition_responses[0] for _ in sent]
    assert [each.error_code for each in answers] == [ErrorCode.none] * 6
    assert [each.base_offset for each in answers] == [0, 0, 1, 1, 0, 2]
    assert client.log_end(topic) == 3


@pytest.mark.feature("X-02")
def test_a_duplicate_on_another_connection(client: RawClient, topic: str, connect: Callable[[], RawClient]) -> None:
    """A producer that reconnects and repeats a batch that is still under way elsewhere does not double it."""
    producer_id, epoch = client.new_producer_id()
    first, second = connect(), connect()
    for sequence in range(50):
        values = client.produce_values(topic, idempotent(producer_id, epoch, sequence))
        first.send("produce", 9, **values)
        second.send("produce", 9, **values)
        answers = [each.receive("produce", 9)[1].responses[0].partition_responses[0] for each in (first, second)]
        assert [(each.error_code, each.base_offset) for each in answers] == [(ErrorCode.none, sequence)] * 2
    assert client.log_end(topic) == 50


def test_an_error_does_not_stop_what_follows(client: RawClient, topic: str) -> None:
    """In a pipeline each request has its own outcome: good ones around a bad one are stored."""
    sent = [batches.values("good"), batches.values("bad", crc=1), batches.values("good")]
    for records in sent:
        client.send("produce", 9, **client.produce_values(topic, records))
    answers = [client.receive("produce", 9)[1].responses[0].partition_responses[0] for _ in sent]
    assert [each.error_code for each in answers] == [ErrorCode.none, ErrorCode.corrupt_message, ErrorCode.none]
    assert client.log_end(topic) == 2


@pytest.mark.feature("F-13")
def test_a_client_that_does_not_read(
    broker: BrokerProcess, client: RawClient, topic: str, connect: Callable[[], RawClient], on_penstock: bool
) -> None:
    """A client that sends and sends but does not read waits, takes bounded memory, and is answered when it reads."""
    client.appended(topic, batches.values(b"x" * UNREAD_ANSWER_BYTES))
    greedy = connect()
    greedy.settimeout(60.0)
    before = resident_bytes(broker)

    def send_all() -> None:
        for _ in range(UNREAD_REQUESTS):
            greedy.send("fetch", 12, **client.fetch_values(topic, 0))

    sending = threading.Thread(target=send_all)
    sending.start()
    for _ in range(100):  # meanwhile the others are served
        assert client.log_end(topic) == 1
    if on_penstock and broker.running:
        assert resident_bytes(broker) - before < UNREAD_MEMORY_BYTES
    for number in range(UNREAD_REQUESTS):
        correlation_id, answer = greedy.receive("fetch", 12)
        assert correlation_id == number + 1
        assert len(decode_batches(answer.responses[0].partitions[0].records)) == 1
    sending.join(10.0)
    assert not sending.is_alive()


def resident_bytes(process: BrokerProcess) -> int:
    if not process.running:
        return 0
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * 4096


def test_a_client_that_goes_while_it_waits(client: RawClient, topic: str, connect: Callable[[], RawClient]) -> None:
    """Clients that disappear with requests under way leave nothing behind that would hurt the others."""
    for _ in range(20):
        gone = connect()
        gone.send("produce", 9, **client.produce_values(topic, batches.values("last words")))
        gone.send("fetch", 12, **client.fetch_values(topic, 10_000_000, max_wait=60_000))
        gone.send("fetch", 12, **client.fetch_values(topic, 0, max_wait=60_000, min_bytes=1 << 25))
        gone.close()
    wait_until(lambda: client.log_end(topic) == 20, what="what was sent is stored")
    assert client.appended(topic, batches.values("still here")) == 20


def test_wide_requests(client: RawClient) -> None:
    """One request may produce to, list and fetch from hundreds of partitions; each is answered for itself."""
    topic = client.create_topic(unique_name("wide"), partitions=WIDE_PARTITIONS)
    everything = range(WIDE_PARTITIONS)
    data = [{"index": index, "records": batches.values(f"for {index}")} for index in everything]
    produced = client.call("produce", 9, acks=-1, timeout=30_000, topic_data=[{"name": topic, "partition_data": data}])
    results = produced.responses[0].partition_responses
    stored = {each.index: (each.error_code, each.base_offset) for each in results}
    assert stored == dict.fromkeys(everything, (ErrorCode.none, 0))
    values = client.fetch_values(topic, 0)
    template = values["topics"][0]["partitions"][0]
    values["topics"][0]["partitions"] = [{**template, "partition": index} for index in everything]
    fetched = client.call("fetch", 12, **values).responses[0].partitions
    assert {each.partition_index: decode_batches(each.records)[0].records[0].value for each in fetched} == {
        index: b"for %d" % index for index in everything
    }
    wanted = [{"partition_index": index, "timestamp": -1} for index in everything]
    listed = client.call("list_offsets", 7, replica_id=-1, topics=[{"name": topic, "partitions": wanted}])
    assert {each.offset for each in listed.topics[0].partitions} == {1}
