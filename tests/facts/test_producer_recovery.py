"""How a producer goes on after it lost its sequence (KIP-360): it says who it was and is given the next epoch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kio.schema.errors import ErrorCode

from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, V2, TransactionClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-07", "X-02")

GENERATIONS = pytest.mark.parametrize("generation", [V1, V2])
Producer = Callable[..., TransactionClient]


@pytest.fixture
def producer(client: RawClient) -> Producer:
    def make(generation: int) -> TransactionClient:
        return TransactionClient(client, unique_name("tx"), generation).init()

    return make


def identity(tx: TransactionClient) -> dict[str, int]:
    return {"producer_id": tx.producer_id, "producer_epoch": tx.epoch}


def next_epoch(before: dict[str, int]) -> dict[str, int]:
    return {**before, "producer_epoch": before["producer_epoch"] + 1}


def is_settled(client: RawClient, topic: str) -> bool:
    answer = client.fetch(topic, 0, isolation_level=1)
    return bool(answer.last_stable_offset == answer.high_watermark)


def commit_one(tx: TransactionClient, topic: str) -> None:
    tx.send(topic, "one")
    tx.commit()
    tx.wait_for("CompleteCommit")


@pytest.mark.parametrize("version", [3, 4, 5])
@GENERATIONS
def test_a_lost_sequence(client: RawClient, topic: str, producer: Producer, generation: int, version: int) -> None:
    """A gap is refused; after an abort and InitProducerId with the current id and epoch, sequences start again."""
    tx = producer(generation)
    commit_one(tx, topic)
    tx.send(topic, "a")
    assert tx.produce(topic, "b", sequence=7) == ErrorCode.out_of_order_sequence_number
    tx.abort()
    tx.wait_for("CompleteAbort")
    before = identity(tx)
    tx.init(version, **before)
    assert identity(tx) == next_epoch(before)
    stale = {"producer_id": before["producer_id"], "epoch": before["producer_epoch"]}
    assert tx.produce(topic, "late", sequence=8, **stale) == ErrorCode.invalid_producer_epoch
    commit_one(tx, topic)
    wait_until(lambda: is_settled(client, topic), what="the commit")


@GENERATIONS
def test_deleted_records(client: RawClient, topic: str, producer: Producer, generation: int) -> None:
    """All its records are deleted: the producer goes on with its next sequence, and with a new epoch from 0."""
    tx = producer(generation)
    commit_one(tx, topic)
    assert client.delete_records(topic, -1).error_code == ErrorCode.none
    assert client.log_start(topic) == client.log_end(topic) == 2
    commit_one(tx, topic)
    assert client.delete_records(topic, -1).error_code == ErrorCode.none
    tx.init(**identity(tx))
    commit_one(tx, topic)
    assert client.log_end(topic) == 6


@GENERATIONS
def test_the_same_request_again(topic: str, producer: Producer, generation: int) -> None:
    """InitProducerId whose answer was lost is answered with the same epoch again; an older epoch is fenced."""
    tx = producer(generation)
    commit_one(tx, topic)
    before = identity(tx)
    given = [tx.init_answer(**before) for _ in range(2)]
    assert [answer.error_code for answer in given] == [ErrorCode.none] * 2
    assert {answer.producer_epoch for answer in given} == {before["producer_epoch"] + 1}
    assert tx.init_answer(**next_epoch(before)).producer_epoch == before["producer_epoch"] + 2
    assert tx.init_answer(**before).error_code == ErrorCode.producer_fenced
    assert tx.init_answer(3, **before).error_code == ErrorCode.invalid_producer_epoch


@GENERATIONS
def test_somebody_else(producer: Producer, generation: int) -> None:
    """An id that is not the one of this transactional id is fenced, and so is an epoch that is yet to come."""
    tx = producer(generation)
    strange = {"producer_id": tx.producer_id + 1_000_000, "producer_epoch": 0}
    assert tx.init_answer(**strange).error_code == ErrorCode.producer_fenced
    assert tx.init_answer(3, **strange).error_code == ErrorCode.invalid_producer_epoch
    early = {"producer_id": tx.producer_id, "producer_epoch": tx.epoch + 5}
    assert tx.init_answer(**early).error_code == ErrorCode.producer_fenced
    assert tx.init(**identity(tx)).epoch == 1


@GENERATIONS
def test_an_open_transaction_is_aborted_first(
    client: RawClient, topic: str, producer: Producer, generation: int
) -> None:
    """A producer that comes in the middle of its own transaction loses that, and goes on."""
    tx = producer(generation)
    tx.send(topic, "a")
    before = identity(tx)
    assert tx.init_answer(**before).error_code == ErrorCode.concurrent_transactions
    tx.wait_for("CompleteAbort")
    tx.init(**before)
    assert identity(tx) == next_epoch(before)
    commit_one(tx, topic)
    wait_until(lambda: is_settled(client, topic), what="the commit")


@GENERATIONS
def test_another_producer_came_meanwhile(topic: str, producer: Producer, generation: int) -> None:
    """Then there is no way back for the old one."""
    old = producer(generation)
    old.send(topic, "a")
    new = TransactionClient(old.client, old.transactional_id, generation).init()
    assert new.epoch == old.epoch + 2
    assert old.init_answer(**identity(old)).error_code == ErrorCode.producer_fenced


@GENERATIONS
def test_an_overdue_transaction(client: RawClient, topic: str, generation: int) -> None:
    """A producer whose transaction was aborted because it took too long is shut out, and may come back (KIP-588)."""
    tx = TransactionClient(client, unique_name("tx"), generation, timeout=500).init()
    tx.send(topic, "a")
    tx.wait_for("CompleteAbort")
    before = identity(tx)
    assert tx.end_answer(commit=True).error_code != ErrorCode.none
    tx.init(**before)
    assert identity(tx) == next_epoch(before)
    commit_one(tx, topic)


def test_an_unknown_transactional_id(client: RawClient) -> None:
    """An offered id that is unknown, or forgotten, is not taken over."""
    tx = TransactionClient(client, unique_name("tx"), V2)
    tx.find_coordinator()
    answers = []

    def answered() -> bool:
        answers.append(tx.init_answer(producer_id=4_711_000, producer_epoch=3))
        return answers[-1].error_code not in (ErrorCode.not_coordinator, ErrorCode.coordinator_load_in_progress)

    wait_until(answered, what="InitProducerId")
    assert answers[-1].error_code == ErrorCode.none
    assert (answers[-1].producer_id != 4_711_000, answers[-1].producer_epoch) == (True, 0)
