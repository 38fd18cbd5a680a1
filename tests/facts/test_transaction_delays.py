"""Requests of a transaction that arrive when the next one is open: a hole of the first generation, closed in the next.

In the first generation all transactions of a producer have the same epoch, so that nobody can tell a request that was
on its way for long from one of the transaction that is open. In the second (KIP-890) every end gives the next epoch.
"""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from tests.support.group_client import wait_for_coordinator
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, V2, TransactionClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-07", "X-02")

COMMIT = pytest.mark.parametrize("commit", [True, False])
REFUSED = ErrorCode.invalid_producer_epoch


@pytest.fixture
def group(client: RawClient) -> str:
    wait_for_coordinator(client)
    return unique_name("group")


def begun(client: RawClient, topic: str, group: str, generation: int, *, commit: bool) -> tuple[TransactionClient, int]:
    """A producer with one transaction behind it and the next one open; and the epoch of the first."""
    tx = TransactionClient(client, unique_name("tx"), generation).init()
    epoch = tx.epoch
    tx.send(topic, "first")
    if generation == V1:
        assert tx.add_offsets(group) == ErrorCode.none
    assert tx.commit_offset(group, topic, 1) == ErrorCode.none
    tx.end(commit=commit)
    tx.wait_for(*over(commit=commit))
    tx.send(topic, "second")
    return tx, epoch


def over(*, commit: bool) -> tuple[str, ...]:
    return ("CompleteCommit",) if commit else ("CompleteAbort",)


def last_stable(client: RawClient, topic: str) -> int:
    return int(client.fetch(topic, 0, isolation_level=1).last_stable_offset)


def pending(client: RawClient, group: str, topic: str) -> bool:
    rows = [{"name": topic, "partition_indexes": [0]}]
    answer = client.call("offset_fetch", 7, group_id=group, topics=rows, require_stable=True)
    return bool(answer.topics[0].partitions[0].error_code == ErrorCode.unstable_offset_commit)


@COMMIT
def test_a_late_end_ends_the_next_transaction_of_the_first_generation(
    client: RawClient, topic: str, group: str, commit: bool
) -> None:
    """Although its producer has not asked for that, and goes on with it."""
    tx, _ = begun(client, topic, group, V1, commit=commit)
    assert tx.end_answer(commit=commit).error_code == ErrorCode.none  # the first one's, that came twice
    tx.wait_for(*over(commit=commit))
    assert last_stable(client, topic) == client.log_end(topic)
    assert tx.produce(topic, "third") == ErrorCode.invalid_txn_state
    assert tx.end_answer(commit=not commit).error_code == ErrorCode.invalid_txn_state


@COMMIT
@pytest.mark.parametrize("late", [True, False])
def test_a_late_end_is_refused_in_the_second_generation(
    client: RawClient, topic: str, group: str, commit: bool, late: bool
) -> None:
    tx, epoch = begun(client, topic, group, V2, commit=commit)
    stable = last_stable(client, topic)
    assert tx.end_answer(commit=late, producer_epoch=epoch).error_code == ErrorCode.producer_fenced
    assert tx.describe().transaction_state == "Ongoing"
    assert last_stable(client, topic) == stable < client.log_end(topic)
    tx.send(topic, "third")
    tx.commit()
    tx.wait_for("CompleteCommit")
    wait_until(lambda: last_stable(client, topic) == client.log_end(topic), what="the commit")


@COMMIT
@pytest.mark.parametrize("sequence", [0, 1])  # the batch that is there, and the next
def test_a_late_batch_is_refused_in_the_second_generation(
    client: RawClient, topic: str, commit: bool, sequence: int
) -> None:
    """While nothing is open, and in the next transaction."""
    tx = TransactionClient(client, unique_name("tx"), V2).init()
    epoch = tx.epoch
    tx.send(topic, "first")
    tx.end(commit=commit)
    tx.wait_for(*over(commit=commit))
    end = client.log_end(topic)
    assert tx.produce(topic, "late", epoch=epoch, sequence=sequence) == REFUSED
    assert tx.describe().transaction_state in over(commit=commit)  # none has begun
    tx.send(topic, "second")
    assert tx.produce(topic, "late", epoch=epoch, sequence=sequence) == REFUSED
    assert client.log_end(topic) == end + 1
    tx.commit()


@COMMIT
def test_a_late_offset_is_refused_in_the_second_generation(
    client: RawClient, topic: str, group: str, commit: bool
) -> None:
    tx, epoch = begun(client, topic, group, V2, commit=commit)
    wait_until(lambda: not pending(client, group, topic), what="the end of the first transaction")
    assert tx.commit_offset(group, topic, 99, producer_epoch=epoch) == REFUSED
    assert not pending(client, group, topic)
    tx.commit()
    tx.wait_for("CompleteCommit")
    assert tx.commit_offset(group, topic, 99, producer_epoch=epoch) == REFUSED
    assert tx.describe().transaction_state == "CompleteCommit"
