"""Offsets inside transactions: who may commit them, and what becomes of them when others delete what they are for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kio.schema.errors import ErrorCode

from tests.support import group_client
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, V2, TransactionClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-07", "X-02")

GENERATIONS = pytest.mark.parametrize("generation", [V1, V2])
UNSTABLE = (ErrorCode.unstable_offset_commit, -1)
NOTHING = (ErrorCode.none, -1)
Joining = Callable[..., TransactionClient]


@pytest.fixture
def group(client: RawClient) -> str:
    group_client.wait_for_coordinator(client)
    return unique_name("group")


@pytest.fixture
def joining(client: RawClient, group: str) -> Joining:
    """A producer whose transaction has the group's offsets in it."""

    def make(generation: int = V1) -> TransactionClient:
        tx = TransactionClient(client, unique_name("tx"), generation).init()
        assert generation == V2 or tx.add_offsets(group) == ErrorCode.none
        return tx

    return make


def fetched(client: RawClient, group: str, topic: str, partition: int = 0) -> tuple[ErrorCode, int]:
    """The answer to a reader that waits for transactions."""
    topics = [{"name": topic, "partition_indexes": [partition]}]
    answer = client.call("offset_fetch", 7, group_id=group, topics=topics, require_stable=True)
    row = answer.topics[0].partitions[0]
    return ErrorCode(row.error_code), row.committed_offset


def commit(tx: TransactionClient) -> None:
    tx.commit()
    tx.wait_for("CompleteCommit")


def delete(client: RawClient, group: str) -> ErrorCode:
    (result,) = client.call("delete_groups", 2, groups_names=[group]).results
    return ErrorCode(result.error_code)


@pytest.mark.parametrize("version", range(6))
def test_every_version(client: RawClient, topic: str, group: str, joining: Joining, version: int) -> None:
    tx = joining(V1 if version < 5 else V2)
    assert tx.commit_offset(group, topic, 5, version=version) == ErrorCode.none
    commit(tx)
    wait_until(lambda: fetched(client, group, topic) == (ErrorCode.none, 5), what="the offset")


@pytest.mark.parametrize("version", range(6))
def test_who_was_fenced(client: RawClient, topic: str, group: str, joining: Joining, version: int) -> None:
    old = joining()
    TransactionClient(client, old.transactional_id, V1).init()
    assert old.commit_offset(group, topic, 5, version=version) == ErrorCode.invalid_producer_epoch


@GENERATIONS
def test_members_are_checked_if_they_say_who_they_are(
    client: RawClient, topic: str, group: str, joining: Joining, generation: int
) -> None:
    """KIP-447."""
    joined = group_client.join(client, group, version=3)
    member, number = joined.member_id, joined.generation_id
    assert group_client.sync(client, group, number, member, {member: b""}, version=2).error_code == ErrorCode.none
    tx = joining(generation)
    for code, said in (
        (ErrorCode.none, {"member_id": member, "generation_id": number}),
        (ErrorCode.none, {}),
        (ErrorCode.illegal_generation, {"member_id": member, "generation_id": number - 1}),
        (ErrorCode.illegal_generation, {"member_id": member}),
        (ErrorCode.unknown_member_id, {"member_id": "stranger", "generation_id": number}),
        (ErrorCode.unknown_member_id, {"generation_id": number}),
        (ErrorCode.unknown_member_id, {"member_id": member, "generation_id": number, "group_instance_id": "i"}),
    ):
        assert tx.commit_offset(group, topic, 5, **said) == code, said


def test_static_members_are_checked(client: RawClient, topic: str, group: str, joining: Joining) -> None:
    joined = group_client.join(client, group, group_instance_id="i")
    member, number = joined.member_id, joined.generation_id
    synced = group_client.sync(client, group, number, member, {member: b""}, group_instance_id="i")
    assert synced.error_code == ErrorCode.none
    tx = joining()
    for code, said in (
        (ErrorCode.none, {"member_id": member, "group_instance_id": "i"}),
        (ErrorCode.fenced_instance_id, {"member_id": "stranger", "group_instance_id": "i"}),
        (ErrorCode.unknown_member_id, {"member_id": member, "group_instance_id": "j"}),
    ):
        assert tx.commit_offset(group, topic, 5, generation_id=number, **said) == code, said


def test_a_generation_of_a_group_that_nobody_knows(topic: str, group: str, joining: Joining) -> None:
    assert joining().commit_offset(group, topic, 5, generation_id=1, member_id="m") == ErrorCode.illegal_generation


@GENERATIONS
def test_a_deleted_group_does_not_come_back(
    client: RawClient, topic: str, group: str, joining: Joining, generation: int
) -> None:
    """Pending offsets are dropped with the group, whatever becomes of the transaction."""
    tx = joining(generation)
    assert tx.commit_offset(group, topic, 5) == ErrorCode.none
    assert fetched(client, group, topic) == UNSTABLE
    assert delete(client, group) == ErrorCode.none
    assert fetched(client, group, topic) == NOTHING
    assert delete(client, group) == ErrorCode.group_id_not_found
    commit(tx)
    assert fetched(client, group, topic) == NOTHING


def test_offsets_after_the_deletion_of_their_group_count(client: RawClient, group: str, joining: Joining) -> None:
    topic = client.create_topic(partitions=2)
    tx = joining()
    for partition in (0, 1):
        assert tx.commit_offset(group, topic, 5, partition=partition) == ErrorCode.none
    assert delete(client, group) == ErrorCode.none
    assert tx.commit_offset(group, topic, 8, partition=1) == ErrorCode.none
    commit(tx)
    wait_until(lambda: fetched(client, group, topic, 1) == (ErrorCode.none, 8), what="the offset")
    assert fetched(client, group, topic, 0) == NOTHING


@pytest.mark.parametrize("committed_before", [False, True])
def test_offset_delete_drops_what_is_pending(
    client: RawClient, topic: str, group: str, joining: Joining, committed_before: bool
) -> None:
    if committed_before:
        before = joining()
        before.commit_offset(group, topic, 3)
        commit(before)
    tx = joining()
    assert tx.commit_offset(group, topic, 5) == ErrorCode.none
    rows = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    answer = client.call("offset_delete", 0, group_id=group, topics=rows)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.none
    assert fetched(client, group, topic) == NOTHING
    commit(tx)
    assert fetched(client, group, topic) == NOTHING


def test_offsets_of_a_topic_that_is_deleted_meanwhile(client: RawClient, group: str, joining: Joining) -> None:
    topic = client.create_topic()
    tx = joining()
    assert tx.commit_offset(group, topic, 5) == ErrorCode.none
    assert client.call("delete_topics", 5, topic_names=[topic], timeout=30_000).responses[0].error_code == 0
    wait_until(lambda: fetched(client, group, topic) == NOTHING, what="the pending offset to go")
    commit(tx)
    assert client.call("offset_fetch", 7, group_id=group, topics=None, require_stable=True).topics == ()
