"""`penstock transaction` against a running broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode

from tests.cli.conftest import CommandLine
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V2, TransactionClient

pytestmark = pytest.mark.feature("K-07")


@pytest.fixture
def client(node: PenstockProcess) -> Iterator[RawClient]:
    with RawClient(node.host, node.port) as client:
        yield client


@pytest.fixture
def tx(client: RawClient) -> TransactionClient:
    return TransactionClient(client, unique_name("tx"), V2).init()


def test_list_and_describe(penstock: CommandLine, client: RawClient, tx: TransactionClient) -> None:
    topic = client.create_topic()
    as_json = ["--output", "json"]
    row = {"transactional_id": tx.transactional_id, "producer_id": tx.producer_id, "state": "Empty"}
    assert row in penstock("transaction", "list", *as_json).json
    tx.send(topic, "a")
    assert {**row, "state": "Ongoing"} in penstock("transaction", "list", "--state", "Ongoing", *as_json).json
    assert tx.transactional_id in penstock("transaction", "list").out
    assert penstock("transaction", "list", "--open-for-ms", 3_600_000, *as_json).json == []
    (described,) = penstock("transaction", "describe", tx.transactional_id, *as_json).json
    assert described["state"] == "Ongoing"
    assert described["partitions"] == f"{topic}-0"
    assert 0 <= described["open_for_ms"] < 60_000
    assert f"{topic}-0" in penstock("transaction", "describe", tx.transactional_id).out
    tx.commit()


def test_abort_asks_and_shuts_the_producer_out(penstock: CommandLine, client: RawClient, tx: TransactionClient) -> None:
    topic = client.create_topic()
    tx.send(topic, "a")
    refused = penstock("transaction", "abort", tx.transactional_id, stdin="n\n", code=1)
    assert "Abort the transaction" in refused.err
    assert tx.describe().transaction_state == "Ongoing"
    assert "aborted" in penstock("transaction", "abort", tx.transactional_id, stdin="y\n").err
    assert tx.produce(topic, "b") == ErrorCode.invalid_producer_epoch
    again = penstock("transaction", "abort", tx.transactional_id, "--yes", code=1)
    assert "no open transaction" in again.err


def test_abort_of_what_hangs_in_a_partition(penstock: CommandLine, client: RawClient, tx: TransactionClient) -> None:
    topic = client.create_topic()
    tx.send(topic, "a")
    where = ["--topic", topic, "--producer-id", tx.producer_id]
    done = penstock("transaction", "abort", *where, "--yes", "--output", "json")
    assert str(tx.producer_id) in done.json["aborted"]
    assert client.fetch(topic, 0, isolation_level=1).last_stable_offset == 2
    assert "no open transaction" in penstock("transaction", "abort", *where, "--yes", code=4).err


def test_mistakes(penstock: CommandLine) -> None:
    assert "no transactional id nobody" in penstock("transaction", "describe", "nobody", code=4).err
    assert "no such state: Nonsense" in penstock("transaction", "list", "--state", "Nonsense", code=2).err
    assert "which transaction?" in penstock("transaction", "abort", code=2).err
    assert "which transaction?" in penstock("transaction", "abort", "x", "--topic", "t", "--producer-id", 1, code=2).err
