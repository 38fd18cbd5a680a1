"""`penstock transaction` against a running broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode

from tests.cli.conftest import CommandLine
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, V2, TransactionClient

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


@pytest.mark.parametrize("generation", [V1, V2])
def test_abort_shuts_out_either_generation(penstock: CommandLine, client: RawClient, generation: int) -> None:
    topic = client.create_topic()
    tx = TransactionClient(client, unique_name("tx"), generation).init()
    tx.send(topic, "a")
    penstock("transaction", "abort", tx.transactional_id, "--yes")
    assert tx.describe().transaction_state == "CompleteAbort"
    assert tx.end_answer(commit=True).error_code != ErrorCode.none
    assert tx.produce(topic, "b") == ErrorCode.invalid_producer_epoch


@pytest.mark.parametrize("generation", [V1, V2])
def test_abort_means_the_transaction_that_was_shown(penstock: CommandLine, client: RawClient, generation: int) -> None:
    """It commits and the next one begins while the question is open."""
    topic = client.create_topic()
    tx = TransactionClient(client, unique_name("tx"), generation).init()
    tx.send(topic, "a")
    shown = f"producer {tx.producer_id}, epoch {tx.epoch}"
    with penstock.asked("transaction", "abort", tx.transactional_id) as question:
        assert shown in question.text
        tx.commit()
        tx.send(topic, "b")
        code, told = question.answer("y")
    assert code == 1
    assert "nothing was aborted" in told
    assert tx.describe().transaction_state == "Ongoing"
    tx.commit()


def test_a_coordinated_transaction_is_not_torn(penstock: CommandLine, client: RawClient, tx: TransactionClient) -> None:
    topic = client.create_topic(partitions=2)
    tx.send(topic, "a", partition=0)
    tx.send(topic, "b", partition=1)
    where = ["--topic", topic, "--partition", 1, "--producer-id", tx.producer_id, "--yes"]
    refused = penstock("transaction", "abort", *where, code=1)
    assert f"`penstock transaction abort {tx.transactional_id}` ends all of it" in refused.err
    assert tx.describe().transaction_state == "Ongoing"
    forced = penstock("transaction", "abort", *where, "--force")
    assert "warning" in forced.err
    assert client.fetch(topic, 0, partition=1, isolation_level=1).last_stable_offset == 2
    tx.abort()


def test_find_hanging(penstock: CommandLine, client: RawClient, tx: TransactionClient) -> None:
    """A coordinated transaction hangs only if it is open beyond every timeout."""
    topic, other = client.create_topic(partitions=3), client.create_topic()
    tx.send(topic, "a", partition=2)
    find = ["transaction", "find-hanging", "--output", "json"]
    assert penstock(*find).json == []
    (found,) = penstock(*find, "--topic", topic, "--timeout-max-ms", 0).json
    assert (found["partition"], found["transactional_id"]) == (2, tx.transactional_id)
    assert found["why"] == "open beyond every timeout"
    assert penstock(*find, "--topic", other, "--timeout-max-ms", 0).json == []
    shown = penstock("transaction", "find-hanging", "--topic", topic, "--timeout-max-ms", 0)
    assert f"penstock transaction abort {tx.transactional_id}" in shown.err
    assert f"{tx.producer_id}" in shown.out
    tx.commit()


def test_what_is_over_is_not_open_for_long(penstock: CommandLine, client: RawClient, tx: TransactionClient) -> None:
    topic = client.create_topic()
    tx.send(topic, "a")
    tx.commit()
    tx.wait_for("CompleteCommit")
    rows = penstock("transaction", "list", "--open-for-ms", 0, "--output", "json").json
    assert tx.transactional_id not in [row["transactional_id"] for row in rows]


def test_mistakes(penstock: CommandLine) -> None:
    assert "no transactional id nobody" in penstock("transaction", "describe", "nobody", code=4).err
    assert "no transactional id nobody" in penstock("transaction", "abort", "nobody", "--yes", code=4).err
    assert "cannot be empty" in penstock("transaction", "describe", "", code=2).err
    assert "cannot be empty" in penstock("transaction", "abort", "", "--yes", code=2).err
    assert "no such state: Nonsense" in penstock("transaction", "list", "--state", "Nonsense", code=2).err
    assert "nope does not exist" in penstock("transaction", "find-hanging", "--topic", "nope", code=4).err
    where = ["--topic", "nope", "--partition", 0, "--producer-id", 1]
    assert "nope-0 does not exist" in penstock("transaction", "abort", *where, "--yes", code=4).err


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["x", "--topic", "t"],
        ["x", "--force"],
        ["x", "--topic", "t", "--partition", 0, "--producer-id", 1],
        ["--topic", "t", "--producer-id", 1],
        ["--topic", "t", "--partition", 0],
    ],
    ids=str,
)
def test_one_transaction_has_to_be_named(penstock: CommandLine, given: list[object]) -> None:
    assert "no transaction is named; give" in penstock("transaction", "abort", *given, "--yes", code=2).err
