"""Refusals of transactions: unknown and fenced producers, internal topics, an end while the last one is under way."""

from __future__ import annotations

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support.group_client import wait_for_coordinator
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, V2, TransactionClient

pytestmark = pytest.mark.feature("K-07", "X-02")

GENERATIONS = pytest.mark.parametrize("generation", [V1, V2])
INTERNAL = pytest.mark.parametrize("name", ["__transaction_state", "__consumer_offsets"])


@pytest.fixture
def tx(client: RawClient) -> TransactionClient:
    wait_for_coordinator(client)
    return TransactionClient(client, unique_name("tx"), V1).init()


def marked(
    client: RawClient, topic: str, *partitions: int, producer_id: int = 987_654, **changes: Any
) -> list[ErrorCode]:
    """WriteTxnMarkers: one commit marker to some partitions."""
    marker = {"producer_id": producer_id, "producer_epoch": 0, "transaction_result": True, "coordinator_epoch": 0}
    topics = [{"name": topic, "partition_indexes": list(partitions)}]
    answer = client.call("write_txn_markers", 1, markers=[marker | {"topics": topics} | changes])
    return [ErrorCode(each.error_code) for each in answer.markers[0].topics[0].partitions]


# --- who asks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_the_end_of_another_producer(tx: TransactionClient, topic: str, version: int) -> None:
    tx.send(topic, "a")
    answer = tx.end_answer(commit=True, version=version, producer_id=tx.producer_id + 999)
    assert answer.error_code == ErrorCode.invalid_producer_id_mapping
    tx.commit()


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.invalid_producer_epoch), (4, ErrorCode.producer_fenced), (5, ErrorCode.producer_fenced)],
)
def test_init_producer_id_of_one_who_was_fenced(
    client: RawClient, tx: TransactionClient, version: int, code: ErrorCode
) -> None:
    TransactionClient(client, tx.transactional_id, V1).init()
    answer = tx.init_answer(version, producer_id=tx.producer_id, producer_epoch=tx.epoch)
    assert answer.error_code == code


# --- while a transaction ends ----------------------------------------------------------------------------------------


@GENERATIONS
@pytest.mark.parametrize("commit", [True, False])
def test_an_end_while_markers_are_written(client: RawClient, topic: str, generation: int, commit: bool) -> None:
    """The same end: CONCURRENT_TRANSACTIONS, or its outcome. The opposite one is never taken."""
    tx = TransactionClient(client, unique_name("tx"), generation).init()
    version = 5 if generation == V2 else 4
    body = {"transactional_id": tx.transactional_id, "producer_id": tx.producer_id, "producer_epoch": tx.epoch}
    tx.send(topic, "a")
    for wanted in (commit, commit, not commit):
        client.send("end_txn", version, **body, committed=wanted)
    first, same, opposite = (client.receive("end_txn", version)[1].error_code for _ in range(3))
    assert first == ErrorCode.none
    assert same in (ErrorCode.none, ErrorCode.concurrent_transactions)
    assert opposite in (ErrorCode.invalid_txn_state, ErrorCode.concurrent_transactions)
    tx.wait_for("CompleteCommit" if commit else "CompleteAbort")


@GENERATIONS
def test_a_commit_while_an_abort_runs(client: RawClient, topic: str, generation: int) -> None:
    """A new producer has the transaction aborted: the old one's commit is not heard, before and after its end.

    In the second generation it may be the repetition of one that was heard, until the new producer has its epoch.
    """
    old = TransactionClient(client, unique_name("tx"), generation).init()
    old.send(topic, "a")
    new = TransactionClient(client, old.transactional_id, generation)
    version = 5 if generation == V2 else 4
    client.send("init_producer_id", 5, transactional_id=old.transactional_id, transaction_timeout=60_000,
                producer_id=-1, producer_epoch=-1)  # fmt: skip
    client.send("end_txn", version, transactional_id=old.transactional_id, producer_id=old.producer_id,
                producer_epoch=old.epoch, committed=True)  # fmt: skip
    assert client.receive("init_producer_id", 5)[1].error_code == ErrorCode.concurrent_transactions
    meanwhile = client.receive("end_txn", version)[1].error_code
    new.wait_for("CompleteAbort")
    afterwards = old.end_answer(commit=True).error_code
    if generation == V1:
        assert (meanwhile, afterwards) == (ErrorCode.producer_fenced, ErrorCode.producer_fenced)
    else:
        assert meanwhile in (ErrorCode.concurrent_transactions, ErrorCode.invalid_txn_state)
        assert afterwards == ErrorCode.invalid_txn_state
    new.init()
    assert old.end_answer(commit=True).error_code == ErrorCode.producer_fenced


# --- internal topics -------------------------------------------------------------------------------------------------


@INTERNAL
@pytest.mark.parametrize("version", range(4))
def test_internal_topics_are_not_for_clients(tx: TransactionClient, name: str, version: int) -> None:
    assert tx.add(name, 0, 700, version=version) == [ErrorCode.topic_authorization_failed] * 2
    assert tx.end_answer(commit=True).error_code == ErrorCode.invalid_txn_state  # nothing was begun


def test_one_internal_topic_keeps_the_others_out(client: RawClient, tx: TransactionClient, topic: str) -> None:
    names = (topic, "__transaction_state", unique_name("nothing"))
    answer = client.call(
        "add_partitions_to_txn", 3, v3_and_below_transactional_id=tx.transactional_id,
        v3_and_below_producer_id=tx.producer_id, v3_and_below_producer_epoch=tx.epoch,
        v3_and_below_topics=[{"name": name, "partitions": [0]} for name in names],
    )  # fmt: skip
    codes = {each.name: each.results_by_partition[0].partition_error_code
             for each in answer.results_by_topic_v3_and_below}  # fmt: skip
    assert [codes[name] for name in names] == [
        ErrorCode.operation_not_attempted, ErrorCode.topic_authorization_failed, ErrorCode.unknown_topic_or_partition,
    ]  # fmt: skip


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_may_add_internal_topics(client: RawClient, tx: TransactionClient, version: int) -> None:
    """Which is how offsets join a transaction in a cluster."""
    for verify_only in (False, True):
        item = {
            "transactional_id": tx.transactional_id, "producer_id": tx.producer_id, "producer_epoch": tx.epoch,
            "verify_only": verify_only, "topics": [{"name": "__consumer_offsets", "partitions": [0]}],
        }  # fmt: skip
        answer = client.call("add_partitions_to_txn", version, transactions=[item])
        (result,) = answer.results_by_transaction
        assert result.topic_results[0].results_by_partition[0].partition_error_code == ErrorCode.none


def test_configs_of_the_state_topic(client: RawClient, tx: TransactionClient) -> None:
    names = ["cleanup.policy", "compression.type", "segment.bytes"]
    wanted = {"resource_type": 2, "resource_name": "__transaction_state", "configuration_keys": names}
    answer = client.call("describe_configs", 4, resources=[wanted], include_synonyms=False, include_documentation=False)
    assert {each.name: each.value for each in answer.results[0].configs} == {
        "cleanup.policy": "compact", "compression.type": "uncompressed", "segment.bytes": "104857600",
    }  # fmt: skip


# --- markers from outside --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        (ErrorCode.unknown_server_error, {"producer_id": -1}),
        (ErrorCode.unknown_server_error, {"producer_id": -1, "producer_epoch": -1}),
        (ErrorCode.unknown_server_error, {"producer_epoch": -1}),
        (ErrorCode.invalid_producer_epoch, {"producer_epoch": -2}),
        (ErrorCode.transaction_coordinator_fenced, {"coordinator_epoch": -7}),
    ],
)
def test_markers_that_cannot_be(client: RawClient, topic: str, code: ErrorCode, changes: dict[str, int]) -> None:
    assert marked(client, topic, 0, **changes) == [code]
    assert marked(client, unique_name("nothing"), 0, **changes) == [ErrorCode.unknown_topic_or_partition]
    assert client.log_end(topic) == 0


def test_a_marker_with_an_epoch_from_the_past(client: RawClient, topic: str) -> None:
    tx = TransactionClient(client, unique_name("tx"), V2).init()
    tx.send(topic, "a")
    tx.commit()
    tx.wait_for("CompleteCommit")
    end = client.log_end(topic)
    code = marked(client, topic, 0, producer_id=tx.producer_id, producer_epoch=tx.epoch - 1)
    assert code == [ErrorCode.invalid_producer_epoch]
    assert client.log_end(topic) == end


@pytest.mark.usefixtures("penstock_only")  # Apache Kafka never answers
def test_one_partition_several_times_gets_one_marker(client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    assert marked(client, topic, 0, 0, 1, 0) == [ErrorCode.none] * 4
    assert [client.log_end(topic, index) for index in (0, 1)] == [1, 1]
