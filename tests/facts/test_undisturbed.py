"""One client's records or requests take long: other clients do not notice, and its own requests stay in order."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cramjam
import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import Record
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, TransactionClient
from tests.support.undisturbed import nobody_waits
from tests.support.waiting import wait_until
from tests.support.wire import encode_request, frame

pytestmark = [pytest.mark.feature("F-01"), pytest.mark.usefixtures("penstock_only")]

LARGE = {"max.message.bytes": "20000000"}
COMPACTED = {"cleanup.policy": "compact", **LARGE}
GZIPPED = {"compression.type": "gzip", **LARGE}
BASE_MS = batches.now_ms()
MANY_TIMES = 100_000


@pytest.fixture(scope="module")
def many() -> bytes:
    """60,000 small records: seconds of decoding, one megabyte."""
    return batches.batch([Record(key=b"%d" % number, timestamp_ms=BASE_MS + number) for number in range(60_000)])


@pytest.fixture(scope="module")
def bomb() -> bytes:
    body = bytes(cramjam.gzip.compress(bytes(300 << 20)))
    return batches.batch([Record(key=b"k")], body=body, codec=batches.CODEC_GZIP)


def test_many_records_on_a_compacted_topic(
    client: RawClient, connect: Callable[[], RawClient], broker: BrokerProcess, many: bytes
) -> None:
    """A batch of 60,000 records is checked elsewhere, and its times are looked up elsewhere."""
    topic = client.create_topic(configs=COMPACTED)
    with nobody_waits(connect(), broker):
        assert [client.appended(topic, many) for _ in range(3)] == [0, 60_000, 120_000]
        assert client.list_offset(topic, BASE_MS + 59_999).offset == 59_999


def test_bombs_on_a_compacted_topic(
    client: RawClient, connect: Callable[[], RawClient], broker: BrokerProcess, bomb: bytes
) -> None:
    """A batch that unpacks to 300 MiB is refused, while others go on."""
    topic = client.create_topic(configs=COMPACTED)
    with nobody_waits(connect(), broker):
        for _ in range(3):
            assert client.produce(topic, bomb).error_code == ErrorCode.corrupt_message
    assert client.log_end(topic) == 0


def test_much_to_compress(
    client: RawClient, connect: Callable[[], RawClient], broker: BrokerProcess, many: bytes
) -> None:
    """A topic's own compression.type costs the one who writes to it."""
    topic = client.create_topic(configs=GZIPPED)
    large = batches.values(os.urandom(4_000_000))
    with nobody_waits(connect(), broker):
        assert [client.appended(topic, records) for records in (large, many, large)] == [0, 1, 60_001]
    assert {batch.codec for batch in client.fetch_batches(topic, max_bytes=1 << 26)} == {batches.CODEC_GZIP}


def test_pipelined_requests_keep_their_order(client: RawClient, many: bytes) -> None:
    """A request that could be stored at once waits for earlier ones on the same connection."""
    checked, plain = client.create_topic(configs=COMPACTED), client.create_topic()
    one = batches.batch([Record(key=b"k")])
    sent = [(checked, many), (checked, one), (plain, one), (checked, many), (checked, one), (plain, one)]
    for topic, records in sent:
        client.send("produce", 9, **client.produce_values(topic, records))
    answers = [client.receive("produce", 9)[1].responses[0].partition_responses[0] for _ in sent]
    assert [each.error_code for each in answers] == [ErrorCode.none] * 6
    assert [each.base_offset for each in answers] == [0, 60_000, 0, 60_001, 120_001, 1]


def test_one_bad_batch_among_good_ones(client: RawClient, many: bytes) -> None:
    """Partitions of one request succeed or fail alone, wherever each was checked; bad records are named."""
    topic = client.create_topic(partitions=3, configs=COMPACTED)
    values = client.produce_values(topic, many)
    keyless = batches.batch([Record(key=b"k"), Record(key=None)])
    values["topic_data"][0]["partition_data"] += [
        {"index": 1, "records": keyless},
        {"index": 2, "records": batches.batch([Record(key=b"k")])},
    ]
    first, second, third = client.call("produce", 9, **values).responses[0].partition_responses
    assert [each.error_code for each in (first, second, third)] == [
        ErrorCode.none, ErrorCode.invalid_record, ErrorCode.none,
    ]  # fmt: skip
    assert [each.batch_index for each in second.record_errors] == [1]
    assert second.error_message
    assert [client.log_end(topic, index) for index in range(3)] == [60_000, 0, 1]


def test_acks_0_stays_silent(client: RawClient, connect: Callable[[], RawClient], many: bytes) -> None:
    """With acks=0 nothing is answered, a client that leaves at once has produced, and an error closes."""
    topic = client.create_topic(configs=COMPACTED)
    client.send("produce", 9, **client.produce_values(topic, many, acks=0))
    assert client.appended(topic, batches.batch([Record(key=b"k")])) == 60_000
    leaving = connect()
    leaving.send("produce", 9, **client.produce_values(topic, many, acks=0))
    leaving.close()
    wait_until(lambda: client.log_end(topic) == 120_001, what="the batch of the one who left")
    wrong = connect()
    wrong.send("produce", 9, **client.produce_values(topic, batches.batch([Record(key=None)]), acks=0))
    assert wrong.closed_by_peer()


# ------------------------------------------------------------------------------------------- a worker that is gone


def record_worker(broker: BrokerProcess) -> int:
    """The process id of the worker with the higher priority."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = status.read_text()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2 :].split()
        if int(fields[1]) == broker.pid and fields[0] != "Z":
            found.append((int(fields[16]), int(status.parent.name)))
    return min(found)[1]


def test_a_worker_that_dies(own_broker: BrokerProcess, many: bytes) -> None:
    """Its request gets an error after which clients try again, others go on, and the next batch finds a new worker."""
    with RawClient(own_broker.host, own_broker.port) as sender, RawClient(own_broker.host, own_broker.port) as other:
        topic = sender.create_topic(configs=COMPACTED)
        sender.appended(topic, many)
        worker = record_worker(own_broker)
        os.kill(worker, signal.SIGSTOP)
        sender.send("produce", 9, **sender.produce_values(topic, many))
        sender.send("produce", 9, **sender.produce_values(topic, batches.batch([Record(key=b"k")])))
        assert other.appended(topic, batches.batch([Record(key=b"k")])) == 60_000
        assert sender.silent(for_s=0.2)
        sender.settimeout(20.0)
        os.kill(worker, signal.SIGKILL)
        answers = [sender.receive("produce", 9)[1].responses[0].partition_responses[0] for _ in range(2)]
        assert [each.error_code for each in answers] == [ErrorCode.request_timed_out, ErrorCode.none]
        assert sender.appended(topic, many) == 60_002
        assert record_worker(own_broker) != worker


def one_transaction(topic: str, partitions: list[int]) -> dict[str, Any]:
    return {
        "v3_and_below_transactional_id": "nobody", "v3_and_below_producer_id": 1, "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": [{"name": topic, "partitions": partitions}],
    }  # fmt: skip


def one_marker(topic: str, partitions: list[int]) -> dict[str, Any]:
    marker = {"producer_id": 5, "producer_epoch": 0, "transaction_result": True, "coordinator_epoch": 0}
    return {"markers": [marker | {"topics": [{"name": topic, "partition_indexes": partitions}]}]}


@pytest.mark.parametrize(
    ("api", "version", "body", "partitions"),
    [
        pytest.param("add_partitions_to_txn", 3, one_transaction, range(MANY_TIMES), id="none of them exists"),
        pytest.param("add_partitions_to_txn", 3, one_transaction, [0] * MANY_TIMES, id="one of them again and again"),
        pytest.param("write_txn_markers", 1, one_marker, [0] * MANY_TIMES, id="one marker again and again"),
    ],
)
def test_very_many_partitions_in_one_request(
    client: RawClient,
    connect: Callable[[], RawClient],
    broker: BrokerProcess,
    api: str,
    version: int,
    body: Callable[[str, list[int]], dict[str, Any]],
    partitions: Sequence[int],
) -> None:
    """A small frame that took seconds when every partition in it was an object, a marker or a task."""
    topic = client.create_topic()
    client.call(api, version, **body(topic, [0]))  # its schema is loaded
    request = frame(encode_request(api, version, 1, body(topic, list(partitions))))
    with nobody_waits(connect(), broker):
        client.send_bytes(request)
        answer = client.receive_frame()
    assert len(answer) > 6 * MANY_TIMES
    assert client.log_end(topic) <= 2


def test_logs_of_very_many_partitions_are_opened_for_a_transaction(own_broker: BrokerProcess) -> None:
    """A broker of its own: with so many open logs a search for garbage takes long, too."""
    host, port = own_broker.host, own_broker.port
    with RawClient(host, port) as client, RawClient(host, port) as other:
        topic = unique_name()
        client.settimeout(60.0)
        assert client.create_topics_answer(topic, num_partitions=8_000).error_code == ErrorCode.none
        producer = TransactionClient(client, topic, V1).init()
        with nobody_waits(other, own_broker):
            assert set(producer.add(topic, *range(8_000))) == {ErrorCode.none}


def test_one_transactional_id_again_and_again(
    client: RawClient, connect: Callable[[], RawClient], broker: BrokerProcess
) -> None:
    names = ["nobody"] * (MANY_TIMES // 2)
    client.call("describe_transactions", 0, transactional_ids=names[:1])
    request = frame(encode_request("describe_transactions", 0, 1, {"transactional_ids": names}))
    with nobody_waits(connect(), broker):
        client.send_bytes(request)
        (_, answer) = client.receive("describe_transactions", 0)
    assert [each.transactional_id for each in answer.transaction_states] == ["nobody"]
