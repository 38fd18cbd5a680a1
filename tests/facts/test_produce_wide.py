"""A Produce request with more partitions than are served in one go: answered and stored like any other."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kio.schema.errors import ErrorCode

from penstock.model.batch_builder import NewRecord, build_batch
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.transaction_client import V2, TransactionClient
from tests.support.undisturbed import nobody_waits
from tests.support.waiting import wait_until
from tests.support.wire import encode_request, frame

PARTITIONS = 1_200
UNKNOWN = 7
"""Beyond the last partition."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def request(topic: str, text: bytes, *, acks: int) -> dict[str, Any]:
    rows = [
        {"index": index, "records": bytes(build_batch([NewRecord(None, b"%s %d" % (text, index))], timestamp=now_ms()))}
        for index in range(PARTITIONS + UNKNOWN)
    ]
    data = [{"name": topic, "partition_data": rows}]
    return {"transactional_id": None, "acks": acks, "timeout": 30_000, "topic_data": data}


def test_every_partition_is_answered_in_order_and_stored(client: RawClient) -> None:
    topic = client.create_topic(partitions=PARTITIONS)
    client.settimeout(60.0)
    answer = client.call("produce", 9, **request(topic, b"first", acks=-1))
    found = answer.responses[0].partition_responses
    assert [row.index for row in found] == list(range(PARTITIONS + UNKNOWN))
    assert {row.error_code for row in found[:PARTITIONS]} == {ErrorCode.none}
    assert {row.error_code for row in found[PARTITIONS:]} == {ErrorCode.unknown_topic_or_partition}
    assert {row.base_offset for row in found[:PARTITIONS]} == {0}
    client.produce(topic, bytes(build_batch([NewRecord(None, b"second")], timestamp=now_ms())), partition=5)
    for partition, texts in ((0, [b"first 0"]), (5, [b"first 5", b"second"]), (1_199, [b"first 1199"])):
        assert [record.value for record in client.fetch_records(topic, partition=partition)] == texts


def test_so_are_those_that_expect_no_answer(client: RawClient, connect: Callable[[], RawClient]) -> None:
    """Some of the partitions do not exist: the connection is closed, which is all that such a client can notice."""
    topic = client.create_topic(partitions=PARTITIONS)
    sender = connect()
    sender.settimeout(60.0)
    sender.send("produce", 9, **request(topic, b"x", acks=0))
    assert sender.closed_by_peer()
    wait_until(lambda: client.fetch_records(topic, partition=1_199), what="the last partition shows its record")


def test_a_transaction_over_very_many_partitions_disturbs_nobody_and_ends_in_all_of_them(
    own_broker: BrokerProcess,
) -> None:
    """Each of its batches begins a log. A broker of its own: many open logs are a burden for other tests."""
    with RawClient(own_broker.host, own_broker.port) as client, RawClient(own_broker.host, own_broker.port) as other:
        end_wide_transaction(client, other, own_broker)


def end_wide_transaction(client: RawClient, other: RawClient, broker: BrokerProcess) -> None:
    partitions = 4_000
    client.settimeout(60.0)
    topic = client.create_topic(partitions=partitions)
    producer = TransactionClient(client, topic, V2).init()
    records = bytes(
        build_batch(
            [NewRecord(None, b"x")],
            timestamp=now_ms(),
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=0,
            transactional=True,
        )
    )
    rows = [{"index": index, "records": records} for index in range(partitions)]
    values = {"transactional_id": topic, "acks": -1, "timeout": 60_000}
    values |= {"topic_data": [{"name": topic, "partition_data": rows}]}
    sent = frame(encode_request("produce", 12, 1, values))
    with nobody_waits(other, broker):
        client.send_bytes(sent)
        (_, answer) = client.receive("produce", 12)
    assert {row.error_code for row in answer.responses[0].partition_responses} == {ErrorCode.none}
    producer.end(commit=True)
    wait_until(lambda: ends(client, topic, partitions, 1) == {2}, what="a marker in every partition")
    assert ends(client, topic, partitions, 0) == {2}


def ends(client: RawClient, topic: str, partitions: int, isolation: int) -> set[int]:
    rows = [{"partition_index": index, "current_leader_epoch": -1, "timestamp": -1} for index in range(partitions)]
    topics = [{"name": topic, "partitions": rows}]
    answer = client.call("list_offsets", 7, replica_id=-1, isolation_level=isolation, topics=topics)
    return {row.offset for row in answer.topics[0].partitions}
