"""A transaction whose coordinator has lost its log: metrics and commands tell of it, and none tears it by guess."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.model.topic_name import TRANSACTION_STATE
from tests.cli.conftest import CommandLine
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.transaction_client import V2, TransactionClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-07")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[PenstockProcess]:
    broker = PenstockProcess(tmp_path)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill9()


def damage(process: PenstockProcess) -> None:
    """A byte in the middle of what the coordinator has stored, with the broker stopped as it should be."""
    segments = (process.data_directory / "topics" / TRANSACTION_STATE).glob("*/*/*.log")
    (segment,) = (path for path in segments if path.read_bytes().strip(b"\0"))
    content = bytearray(segment.read_bytes())
    content[80] ^= 0xFF
    segment.write_bytes(content)


def test_it_is_seen_and_ended_only_by_force(process: PenstockProcess) -> None:
    with RawClient(process.host, process.port) as client:
        topic = client.create_topic(partitions=2)
        tx = TransactionClient(client, "orders", V2).init()
        tx.send(topic, "a", partition=1)
        assert metric(process, "penstock_uncoordinated_transactions") == 0
    process.stop()
    damage(process)
    process.start()
    penstock = CommandLine(process.bootstrap)
    find = ["transaction", "find-hanging", "--topic", topic, "--output", "json"]
    (found,) = penstock(*find).json
    assert (found["partition"], found["producer_id"]) == (1, tx.producer_id)
    assert found["why"] == "its coordinator cannot be asked"
    assert metric(process, "penstock_open_transactions") == 0
    assert metric(process, "penstock_uncoordinated_transactions") == 1
    where = ["--topic", topic, "--partition", 1, "--producer-id", tx.producer_id, "--yes"]
    assert "COORDINATOR_NOT_AVAILABLE" in penstock("transaction", "abort", *where, code=1).err
    assert "warning" in penstock("transaction", "abort", *where, "--force").err
    wait_until(lambda: metric(process, "penstock_uncoordinated_transactions") == 0, what="it is over")
    assert penstock(*find).json == []
    with RawClient(process.host, process.port) as client:
        assert client.fetch(topic, 0, partition=1, isolation_level=1).last_stable_offset == 2
