"""A member hides a whole batch in its assignment, and a power cut tears the write: nobody else's offsets are harmed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from kio.schema.errors import ErrorCode

from penstock.model.batch import iter_headers
from penstock.model.records import iter_records
from tests.support.batches import values
from tests.support.group_client import commit, committed, joined_alone, wait_for_coordinator
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.crash, pytest.mark.feature("P-05", "X-01")]

TORN_BYTES = 61
# All groups are in one partition.
CONFIG = "groups: {offsets_topic_partitions: 1, initial_rebalance_delay_ms: 0}\n"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path, CONFIG)
    process.prepare()
    process.start()
    yield process
    if process.running:
        process.stop()


@pytest.mark.parametrize("what", ["a batch", "random bytes"])
def test_a_torn_assignment_is_cut_whatever_is_in_it(node: PenstockProcess, what: str) -> None:
    inside = values("x" * 20, base_offset=10**6)
    assignment = inside if what == "a batch" else os.urandom(len(inside))
    with RawClient(node.host, node.port) as client:
        client.create_topic("t")
        wait_for_coordinator(client)
        assert commit(client, "other", "t", 5) is ErrorCode.none
        joined_alone(client, "hostile", assignment=assignment)
    node.kill9()
    (path,) = node.data_directory.glob("topics/__consumer_offsets/*/0/*.log")
    tear_last_batch(path, assignment)
    node.start()
    with RawClient(node.host, node.port) as client:
        wait_for_coordinator(client)
        assert committed(client, "other", "t").committed_offset == 5
        assert commit(client, "other", "t", 6) is ErrorCode.none
    assert list(path.parent.glob("*.cut"))


def test_clients_read_what_is_stored_in_the_other_form(node: PenstockProcess) -> None:
    assignment = values("x" * 20, base_offset=10**6)
    with RawClient(node.host, node.port) as client:
        joined_alone(client, "hostile", assignment=assignment)
    consumer = Consumer({"bootstrap.servers": f"{node.host}:{node.port}", "group.id": "reader", "check.crcs": True})
    consumer.assign([TopicPartition("__consumer_offsets", 0, 0)])
    found: list[bytes] = []

    def has_come() -> bool:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.append(message.value() or b"")
        return any(value.endswith(assignment) for value in found)

    wait_until(has_come, what="the record with the assignment", within_s=60.0)
    consumer.close()


def tear_last_batch(path: Path, assignment: bytes) -> None:
    data = bytearray(path.read_bytes())
    position, header = list(iter_headers(data))[-1]
    (record,) = iter_records(data[position : position + header.size_bytes])
    assert record.value is not None
    assert record.value.endswith(assignment)
    data[position : position + TORN_BYTES] = bytes(TORN_BYTES)
    path.write_bytes(data)
