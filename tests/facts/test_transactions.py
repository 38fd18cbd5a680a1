"""Transactions over raw frames: who may do what, which codes refuse it, and what readers see. Both generations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kio.schema.errors import ErrorCode

from penstock.storage.interface import AbortedTransaction
from tests.support.committed_reader import committed_in
from tests.support.raw_client import LATEST, RawClient, unique_name
from tests.support.transaction_client import V1, V2, TransactionClient
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed

pytestmark = pytest.mark.feature("K-07", "X-02")

GENERATIONS = pytest.mark.parametrize("generation", [V1, V2])
Producer = Callable[..., TransactionClient]


@pytest.fixture
def producer(client: RawClient) -> Producer:
    def make(generation: int = V2, *, name: str | None = None, timeout: int = 60_000) -> TransactionClient:
        return TransactionClient(client, name or unique_name("tx"), generation, timeout=timeout)

    return make


def committed(client: RawClient, topic: str) -> list[str]:
    """The records that a read_committed consumer sees, without aborted ones."""
    answer = client.fetch(topic, 0, isolation_level=1)
    assert answer.error_code == ErrorCode.none
    aborted = [AbortedTransaction(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
    return [(record.value or b"").decode() for record in committed_in(answer.records, aborted)]


def stable(client: RawClient, topic: str) -> tuple[int, int]:
    answer = client.fetch(topic, 0, isolation_level=1)
    return answer.last_stable_offset, answer.high_watermark


@GENERATIONS
def test_what_is_committed_is_seen_and_what_is_aborted_is_not(
    client: RawClient, topic: str, producer: Producer, generation: int
) -> None:
    tx = producer(generation).init()
    tx.send(topic, "a", "b")
    assert committed(client, topic) == []
    tx.commit()
    wait_until(lambda: committed(client, topic) == ["a", "b"], what="the commit")
    tx.send(topic, "c")
    tx.abort()
    tx.send(topic, "d")
    tx.commit()
    wait_until(lambda: committed(client, topic) == ["a", "b", "d"], what="the second commit")
    assert client.log_end(topic) == 7  # with a marker for each


def test_the_last_stable_offset_stops_at_the_oldest_open_transaction(
    client: RawClient, topic: str, producer: Producer
) -> None:
    first, second = producer().init(), producer().init()
    first.send(topic, "a")
    second.send(topic, "b")
    assert stable(client, topic) == (0, 2)
    second.commit()
    second.wait_for("CompleteCommit")
    assert stable(client, topic) == (0, 3)
    first.abort()
    first.wait_for("CompleteAbort")
    assert stable(client, topic) == (4, 4)
    assert committed(client, topic) == ["b"]


@GENERATIONS
def test_epochs(client: RawClient, topic: str, producer: Producer, generation: int) -> None:
    """The first epoch is 0; InitProducerId raises it, and so does the end of a transaction of the second generation."""
    tx = producer(generation).init()
    assert tx.epoch == 0
    tx.send(topic, "a")
    tx.commit()
    assert tx.epoch == (0 if generation == V1 else 1)
    tx.wait_for("CompleteCommit")
    before = tx.epoch
    assert tx.init().epoch == before + 1


@GENERATIONS
def test_a_new_producer_fences_the_old_one(client: RawClient, topic: str, producer: Producer, generation: int) -> None:
    """InitProducerId aborts what is open, and answers CONCURRENT_TRANSACTIONS meanwhile."""
    old = producer(generation).init()
    old.send(topic, "a")
    new = producer(generation, name=old.transactional_id)
    assert new.init_answer().error_code == ErrorCode.concurrent_transactions
    new.init()
    assert new.epoch > old.epoch
    assert old.produce(topic, "b") == ErrorCode.invalid_producer_epoch
    assert old.end_answer(commit=True).error_code == ErrorCode.producer_fenced
    assert old.end_answer(commit=True, version=1).error_code == ErrorCode.invalid_producer_epoch
    assert old.add(topic) == [ErrorCode.producer_fenced]
    assert old.add(topic, version=1) == [ErrorCode.invalid_producer_epoch]
    assert committed(client, topic) == []


@pytest.mark.parametrize("version", range(3, 12))
def test_a_partition_that_was_not_added(client: RawClient, topic: str, producer: Producer, version: int) -> None:
    tx = producer(V1).init()
    expected = ErrorCode.invalid_txn_state if version < 11 else ErrorCode.transaction_abortable
    assert tx.produce(topic, "a", version=version) == expected
    assert client.log_end(topic) == 0


def test_transactional_batches_and_ids(client: RawClient, topic: str, producer: Producer) -> None:
    tx = producer(V2).init()
    code = tx.produce(topic, "a", transactional_id=None)
    assert code == ErrorCode.transactional_id_authorization_failed
    assert tx.produce(topic, "a") == ErrorCode.out_of_order_sequence_number  # the first one was refused
    assert tx.produce(topic, "a", sequence=0) == ErrorCode.none
    assert tx.produce(topic, "b", sequence=1, transactional=False, transactional_id=None) == ErrorCode.invalid_txn_state
    assert client.log_end(topic) == 1


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False])
def test_the_end_of_nothing(client: RawClient, producer: Producer, version: int, commit: bool) -> None:
    """V1: INVALID_TXN_STATE. V2: a commit likewise, an abort gives a new epoch."""
    tx = producer(V1).init()
    answer = tx.end_answer(commit=commit, version=version)
    if version == 5 and not commit:
        assert (answer.error_code, answer.producer_epoch) == (ErrorCode.none, tx.epoch + 1)
    else:
        assert answer.error_code == ErrorCode.invalid_txn_state


@GENERATIONS
@pytest.mark.parametrize("commit", [True, False])
def test_the_same_end_again(client: RawClient, topic: str, producer: Producer, generation: int, commit: bool) -> None:
    tx = producer(generation).init()
    tx.send(topic, "a")
    first = tx.end_answer(commit=commit)
    assert first.error_code == ErrorCode.none
    tx.wait_for("CompleteCommit", "CompleteAbort")
    again = tx.end_answer(commit=commit)
    assert again.error_code == ErrorCode.none
    if generation == V2:
        assert (again.producer_id, again.producer_epoch) == (first.producer_id, first.producer_epoch)
    assert tx.end_answer(commit=not commit).error_code == ErrorCode.invalid_txn_state


def test_an_abort_of_nothing_waits_for_the_end_before_it(topic: str, producer: Producer) -> None:
    """A client whose next transaction fails before anything of it was taken aborts while markers are being written."""
    tx = producer(V2).init()
    for number in range(10):
        tx.send(topic, f"{number}")
        tx.commit()
        answers = [tx.end_answer(commit=False)]
        while answers[-1].error_code == ErrorCode.concurrent_transactions:
            answers.append(tx.end_answer(commit=False))
        assert answers[-1].error_code == ErrorCode.none, answers
        assert answers[-1].producer_epoch == tx.epoch + 1
        tx.init(producer_id=tx.producer_id, producer_epoch=tx.epoch + 1)


def test_strangers(client: RawClient, topic: str, producer: Producer) -> None:
    tx = producer(V1).init()
    nobody = producer(V1)
    assert nobody.end_answer(commit=True).error_code == ErrorCode.invalid_producer_id_mapping
    assert nobody.add(topic) == [ErrorCode.invalid_producer_id_mapping]
    assert tx.add(topic, producer_id=tx.producer_id + 999) == [ErrorCode.invalid_producer_id_mapping]
    assert tx.add(topic, producer_epoch=tx.epoch + 1) == [ErrorCode.producer_fenced]
    assert tx.end_answer(commit=True, producer_epoch=tx.epoch + 1).error_code == ErrorCode.producer_fenced


def test_an_empty_id_is_an_invalid_request(client: RawClient, topic: str) -> None:
    tx = TransactionClient(client, "", V1)
    assert tx.init_answer().error_code == ErrorCode.invalid_request
    assert tx.end_answer(commit=True).error_code == ErrorCode.invalid_request
    assert tx.add(topic) == [ErrorCode.invalid_request]


def test_an_id_that_is_too_long_closes_the_connection(connect: Callable[[], RawClient], topic: str) -> None:
    for send in (
        lambda tx: tx.init_answer(version=5),
        lambda tx: tx.end_answer(commit=True),
    ):
        with pytest.raises(ConnectionClosed):
            send(TransactionClient(connect(), "x" * 40_000, V2))


@pytest.mark.parametrize("timeout", [0, -1, 900_001])
def test_timeouts_that_are_not_allowed(client: RawClient, producer: Producer, timeout: int) -> None:
    tx = producer(timeout=timeout)
    tx.find_coordinator()
    assert tx.init_answer().error_code == ErrorCode.invalid_transaction_timeout


def test_one_bad_partition_keeps_the_others_out(client: RawClient, topic: str, producer: Producer) -> None:
    tx = producer(V1).init()
    codes = tx.add(topic, 0, 7)
    assert codes == [ErrorCode.operation_not_attempted, ErrorCode.unknown_topic_or_partition]
    assert tx.end_answer(commit=True).error_code == ErrorCode.invalid_txn_state  # nothing was begun


def test_an_overdue_transaction_is_aborted(client: RawClient, topic: str, producer: Producer) -> None:
    tx = producer(V2, timeout=500).init()
    tx.send(topic, "a")
    wait_until(lambda: tx.describe().transaction_state == "CompleteAbort", within_s=40, what="the abort")
    assert committed(client, topic) == []
    assert tx.end_answer(commit=True).error_code == ErrorCode.invalid_txn_state
    assert tx.produce(topic, "b") == ErrorCode.invalid_producer_epoch


def test_list_offsets_by_isolation_level(client: RawClient, topic: str, producer: Producer) -> None:
    tx = producer().init()
    tx.send(topic, "a")
    wanted = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": LATEST}
    offsets = []
    for isolation in (0, 1):
        topics = [{"name": topic, "partitions": [wanted]}]
        answer = client.call("list_offsets", 7, replica_id=-1, isolation_level=isolation, topics=topics)
        offsets.append(answer.topics[0].partitions[0].offset)
    assert offsets == [1, 0]


def test_describe_and_list(client: RawClient, topic: str, producer: Producer) -> None:
    tx = producer().init()
    assert producer().describe().error_code == ErrorCode.transactional_id_not_found
    tx.send(topic, "a")
    described = tx.describe()
    assert (described.transaction_state, described.producer_id, described.producer_epoch) == (
        "Ongoing", tx.producer_id, tx.epoch,
    )  # fmt: skip
    assert [(each.topic, each.partitions) for each in described.topics] == [(topic, (0,))]
    listed = client.call("list_transactions", 0, state_filters=["Ongoing", "Nonsense"], producer_id_filters=[])
    assert listed.unknown_state_filters == ("Nonsense",)
    assert tx.transactional_id in [each.transactional_id for each in listed.transaction_states]


def test_list_by_name(client: RawClient, producer: Producer) -> None:
    """The whole name has to match; look-around and back-references are not for RE2."""
    name = producer().init().transactional_id

    def listed(pattern: str) -> tuple[ErrorCode, list[str]]:
        answer = client.call(
            "list_transactions", 2, state_filters=[], producer_id_filters=[], duration_filter=-1,
            transactional_id_pattern=pattern,
        )  # fmt: skip
        return answer.error_code, [each.transactional_id for each in answer.transaction_states]

    assert listed(f"{name[:-3]}.{{3}}") == (ErrorCode.none, [name])
    assert listed(name[:-3]) == (ErrorCode.none, [])
    assert name in listed("")[1]
    for pattern in ("(", "(?=x)", r"(a)\1", "x{1,2000}"):
        assert listed(pattern) == (ErrorCode.invalid_regular_expression, []), pattern


def test_offsets_count_when_the_transaction_commits(client: RawClient, topic: str, producer: Producer) -> None:
    tx = producer(V2).init()
    group = unique_name("group")
    partitions = [{"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}]

    def fetched(*, require_stable: bool) -> tuple[ErrorCode, int]:
        topics = [{"name": topic, "partition_indexes": [0]}]
        answer = client.call("offset_fetch", 7, group_id=group, topics=topics, require_stable=require_stable)
        row = answer.topics[0].partitions[0]
        return ErrorCode(row.error_code), row.committed_offset

    wait_until(
        lambda: client.call("find_coordinator", 3, key=group, key_type=0).error_code == ErrorCode.none, what="groups"
    )
    commit = {
        "transactional_id": tx.transactional_id, "group_id": group, "producer_id": tx.producer_id,
        "producer_epoch": tx.epoch, "generation_id": -1, "member_id": "", "group_instance_id": None,
        "topics": [{"name": topic, "partitions": partitions}],
    }  # fmt: skip
    for version, code in ((3, ErrorCode.invalid_txn_state), (4, ErrorCode.transaction_abortable), (5, ErrorCode.none)):
        answer = client.call("txn_offset_commit", version, **commit)
        assert answer.topics[0].partitions[0].error_code == code, version
    assert fetched(require_stable=False) == (ErrorCode.none, -1)
    assert fetched(require_stable=True) == (ErrorCode.unstable_offset_commit, -1)
    tx.commit()
    tx.wait_for("CompleteCommit")
    assert fetched(require_stable=True) == (ErrorCode.none, 5)
