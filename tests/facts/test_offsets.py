"""Committed offsets: with and without members, their metadata, their errors, and when they go."""

import uuid
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support.group_client import (
    commit,
    committed,
    fetch_offsets,
    join,
    joined_alone,
    new_member_id,
    subscription,
    sync,
)
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-08", "F-01")

METADATA_MAX = 4096
NOTHING = (-1, "", ErrorCode.none)


@pytest.fixture
def group() -> str:
    return unique_name("group")


def delete_offset(client: RawClient, group: str, topic: str, partition: int = 0) -> Any:
    wanted = [{"name": topic, "partitions": [{"partition_index": partition}]}]
    return client.call("offset_delete", 0, group_id=group, topics=wanted)


# ---------------------------------------------------------------------------------------------------- committing


@pytest.mark.parametrize("version", range(2, 10))
def test_commit_without_a_group(client: RawClient, topic: str, group: str, version: int) -> None:
    """A consumer that assigns its partitions itself commits with generation −1 and no member id."""
    assert commit(client, group, topic, 42, metadata="a note", version=version) == ErrorCode.none
    found = committed(client, group, topic)
    assert (found.committed_offset, found.metadata) == (42, "a note")


def test_commit_by_topic_id(client: RawClient, topic: str, group: str) -> None:
    """From v10 commits name topics by id; an unknown one is UNKNOWN_TOPIC_ID and does not hurt the others."""
    topic_id, unknown = client.topic_id(topic), uuid.UUID(int=0xCAFE)
    offset = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    topics = [{"topic_id": each, "partitions": [offset]} for each in (topic_id, unknown)]
    answer = client.call("offset_commit", 10, group_id=group, generation_id_or_member_epoch=-1, topics=topics)
    codes = {each.topic_id: each.partitions[0].error_code for each in answer.topics}
    assert codes == {topic_id: ErrorCode.none, unknown: ErrorCode.unknown_topic_id}
    assert committed(client, group, topic).committed_offset == 7


def test_commit_keeps_the_leader_epoch(client: RawClient, topic: str, group: str) -> None:
    """The leader epoch of a commit is kept and told from OffsetFetch v5 on."""
    assert commit(client, group, topic, 5, leader_epoch=3) == ErrorCode.none
    assert committed(client, group, topic).committed_leader_epoch == 3


def test_metadata_may_be_null_empty_or_long(client: RawClient, topic: str, group: str) -> None:
    """Metadata may hold up to 4096 characters, null is stored as empty, more is OFFSET_METADATA_TOO_LARGE."""
    for metadata, expected in ((None, ""), ("", ""), ("x" * METADATA_MAX, "x" * METADATA_MAX)):
        assert commit(client, group, topic, 1, metadata=metadata) == ErrorCode.none
        assert committed(client, group, topic).metadata == expected
    too_long = commit(client, group, topic, 2, metadata="x" * (METADATA_MAX + 1))
    assert too_long == ErrorCode.offset_metadata_too_large
    assert committed(client, group, topic).committed_offset == 1


def test_one_partition_with_too_much_metadata_does_not_hurt_the_others(client: RawClient, group: str) -> None:
    """Each partition of a commit succeeds or fails alone."""
    topic = client.create_topic(partitions=2)
    partitions = [
        {"partition_index": 0, "committed_offset": 1, "committed_metadata": "x" * (METADATA_MAX + 1)},
        {"partition_index": 1, "committed_offset": 1, "committed_metadata": "short"},
        {"partition_index": 9, "committed_offset": 1, "committed_metadata": ""},
    ]
    topics = [{"name": topic, "partitions": partitions}]
    answer = client.call("offset_commit", 8, group_id=group, generation_id_or_member_epoch=-1, topics=topics)
    codes = {each.partition_index: each.error_code for each in answer.topics[0].partitions}
    assert codes == {
        0: ErrorCode.offset_metadata_too_large,
        1: ErrorCode.none,
        9: ErrorCode.unknown_topic_or_partition,
    }


def test_commit_to_what_does_not_exist(client: RawClient, topic: str, group: str) -> None:
    """A commit for an unknown topic or partition is UNKNOWN_TOPIC_OR_PARTITION."""
    assert commit(client, group, "never-created", 1) == ErrorCode.unknown_topic_or_partition
    assert commit(client, group, topic, 1, partition=9) == ErrorCode.unknown_topic_or_partition


def test_a_member_commits(client: RawClient, topic: str, group: str) -> None:
    """A member commits with its id and generation."""
    member = joined_alone(client, group)
    assert member.commit(topic, 11, metadata="mine") == ErrorCode.none
    assert committed(client, group, topic).committed_offset == 11


def test_a_commit_of_another_generation(client: RawClient, topic: str, group: str) -> None:
    """A member's commit with a wrong generation is ILLEGAL_GENERATION."""
    member = joined_alone(client, group)
    wrong = commit(client, group, topic, 1, generation=member.generation + 1, member_id=member.member_id)
    assert wrong == ErrorCode.illegal_generation


def test_a_commit_without_generation_into_a_living_group(client: RawClient, topic: str, group: str) -> None:
    """Generation −1 on a group that has members is UNKNOWN_MEMBER_ID: their offsets are theirs."""
    joined_alone(client, group)
    assert commit(client, group, topic, 1) == ErrorCode.unknown_member_id


def test_a_commit_by_a_stranger(client: RawClient, topic: str, group: str) -> None:
    """A commit by someone who is no member is UNKNOWN_MEMBER_ID."""
    member = joined_alone(client, group)
    stranger = commit(client, group, topic, 1, generation=member.generation, member_id="stranger")
    assert stranger == ErrorCode.unknown_member_id


def test_a_commit_with_a_generation_into_no_group(client: RawClient, topic: str, group: str) -> None:
    """A commit with a generation for a group that does not exist is ILLEGAL_GENERATION."""
    assert commit(client, group, topic, 1, generation=5, member_id="x") == ErrorCode.illegal_generation


def test_a_commit_while_the_rebalance_completes(client: RawClient, topic: str, group: str) -> None:
    """Between join and sync a commit is REBALANCE_IN_PROGRESS; afterwards it is fine."""
    member_id = new_member_id(client, group)
    generation = join(client, group, member_id=member_id).generation_id
    early = commit(client, group, topic, 1, generation=generation, member_id=member_id)
    assert early == ErrorCode.rebalance_in_progress
    sync(client, group, generation, member_id, {member_id: b""})
    assert commit(client, group, topic, 1, generation=generation, member_id=member_id) == ErrorCode.none


def test_commits_into_an_empty_group(client: RawClient, topic: str, group: str) -> None:
    """When all members have left, commits without membership are welcome again."""
    joined_alone(client, group).leave()
    assert commit(client, group, topic, 9) == ErrorCode.none


# ------------------------------------------------------------------------------------------------------ fetching


@pytest.mark.parametrize("version", range(1, 8))
def test_fetch_from_an_unknown_group(client: RawClient, topic: str, group: str, version: int) -> None:
    """Unknown groups, topics and partitions answer −1, empty metadata and no error, for each that was asked."""
    answer = fetch_offsets(client, group, {topic: [0, 9], "never-created": [0]}, version=version)
    found = {
        (each.name, partition.partition_index): (
            partition.committed_offset,
            partition.metadata,
            partition.error_code,
        )
        for each in answer.topics
        for partition in each.partitions
    }
    assert found == {(topic, 0): NOTHING, (topic, 9): NOTHING, ("never-created", 0): NOTHING}
    if version >= 2:
        assert answer.error_code == ErrorCode.none
    if version >= 5:
        epochs = {partition.committed_leader_epoch for each in answer.topics for partition in each.partitions}
        assert epochs == {-1}


@pytest.mark.parametrize("version", range(2, 8))
def test_fetch_everything(client: RawClient, topic: str, group: str, version: int) -> None:
    """A null list of topics asks for all that was committed, and for an unknown group that is nothing."""
    assert fetch_offsets(client, group, None, version=version).topics == ()
    commit(client, group, topic, 3)
    (found,) = fetch_offsets(client, group, None, version=version).topics
    assert (found.name, found.partitions[0].committed_offset) == (topic, 3)


@pytest.mark.parametrize("version", [8, 9])
def test_fetch_for_many_groups(client: RawClient, topic: str, version: int) -> None:
    """From v8 one request asks for many groups, all topics of one and some of another."""
    first, second = unique_name("group"), unique_name("group")
    commit(client, first, topic, 1)
    wanted = [
        {"group_id": first, "member_id": None, "member_epoch": -1, "topics": None},
        {
            "group_id": second,
            "member_id": None,
            "member_epoch": -1,
            "topics": [{"name": topic, "partition_indexes": [0]}],
        },
    ]
    answer = client.call("offset_fetch", version, groups=wanted, require_stable=True)
    found = {each.group_id: each.topics[0].partitions[0].committed_offset for each in answer.groups}
    assert found == {first: 1, second: -1}


def test_fetch_by_topic_id(client: RawClient, topic: str, group: str) -> None:
    """From v10 topics are asked for by id; an unknown one is UNKNOWN_TOPIC_ID."""
    commit(client, group, topic, 6, metadata="note")
    topic_id, unknown = client.topic_id(topic), uuid.UUID(int=0xD00D)
    topics = [{"topic_id": each, "partition_indexes": [0]} for each in (topic_id, unknown)]
    wanted = {"group_id": group, "member_id": None, "member_epoch": -1, "topics": topics}
    (answer,) = client.call("offset_fetch", 10, groups=[wanted], require_stable=False).groups
    found = {each.topic_id: each.partitions[0] for each in answer.topics}
    assert (found[topic_id].committed_offset, found[topic_id].metadata) == (6, "note")
    assert found[unknown].error_code == ErrorCode.unknown_topic_id
    assert found[unknown].committed_offset == -1


# ------------------------------------------------------------------------------------------------------ deleting


def test_delete_offsets(client: RawClient, topic: str, group: str) -> None:
    """OffsetDelete forgets a group's offset for a topic that nobody in the group subscribes to."""
    commit(client, group, topic, 3)
    answer = delete_offset(client, group, topic)
    assert (answer.error_code, answer.topics[0].partitions[0].error_code) == (ErrorCode.none, ErrorCode.none)
    assert committed(client, group, topic).committed_offset == -1


def test_delete_offsets_while_subscribed(client: RawClient, topic: str, group: str) -> None:
    """While members subscribe to the topic it is GROUP_SUBSCRIBED_TO_TOPIC; other topics may go."""
    other = client.create_topic()
    member = joined_alone(client, group, protocols={"range": subscription(topic)})
    for name in (topic, other):
        assert member.commit(name, 3) == ErrorCode.none
    refused = delete_offset(client, group, topic).topics[0].partitions[0].error_code
    assert refused == ErrorCode.group_subscribed_to_topic
    assert delete_offset(client, group, other).topics[0].partitions[0].error_code == ErrorCode.none
    assert committed(client, group, topic).committed_offset == 3


def test_delete_offsets_of_an_unknown_group(client: RawClient, topic: str) -> None:
    """OffsetDelete for a group that does not exist is GROUP_ID_NOT_FOUND."""
    assert delete_offset(client, unique_name("group"), topic).error_code == ErrorCode.group_id_not_found


def test_deleting_a_topic_removes_its_offsets(client: RawClient, topic: str, group: str) -> None:
    """Offsets of a deleted topic are gone, also when a topic of that name is made again."""
    commit(client, group, topic, 3)
    client.delete_topic(topic)
    client.create_topic(topic)

    def forgotten() -> bool:
        return bool(committed(client, group, topic).committed_offset == -1)

    wait_until(forgotten, what="the offsets of the deleted topic are gone")


def test_deleting_a_group_removes_its_offsets(client: RawClient, topic: str, group: str) -> None:
    """A group that is deleted takes its offsets with it."""
    commit(client, group, topic, 3)
    (result,) = client.call("delete_groups", 2, groups_names=[group]).results
    assert result.error_code == ErrorCode.none
    assert committed(client, group, topic).committed_offset == -1


@pytest.mark.usefixtures("penstock_only")
def test_a_group_with_more_offsets_than_a_batch_of_tombstones_has_room_for(client: RawClient) -> None:
    """It can be deleted, and its offsets go with their topic."""
    width, group = 2_000, unique_name("g" * 900)
    for is_deleted in (True, False):
        topic = client.create_topic(partitions=width)
        for first in range(0, width, 500):
            rows = [{"partition_index": index, "committed_offset": 3} for index in range(first, first + 500)]
            topics = [{"name": topic, "partitions": rows}]
            answer = client.call("offset_commit", 8, group_id=group, generation_id_or_member_epoch=-1, topics=topics)
            assert {row.error_code for row in answer.topics[0].partitions} == {ErrorCode.none}
        if is_deleted:
            (result,) = client.call("delete_groups", 2, groups_names=[group]).results
            assert result.error_code == ErrorCode.none
            assert not fetch_offsets(client, group, None).topics
        else:
            client.delete_topic(topic)
            wait_until(lambda: not fetch_offsets(client, group, None).topics, what="the offsets are gone")


def test_offsets_are_in_a_compacted_topic(client: RawClient, topic: str, group: str) -> None:
    """`__consumer_offsets` is compacted, and a commit is a record in it whose key holds group and topic."""
    commit(client, group, topic, 3, metadata="in the log")
    resource = {"resource_type": 2, "resource_name": "__consumer_offsets", "configuration_keys": ["cleanup.policy"]}
    (result,) = client.call("describe_configs", 4, resources=[resource]).results
    assert result.configs[0].value == "compact"
    (found,) = client.metadata("__consumer_offsets").topics
    key = group.encode()
    records = [
        record
        for partition in found.partitions
        for record in client.fetch_records(
            "__consumer_offsets", client.log_start("__consumer_offsets", partition.partition_index),
            partition=partition.partition_index,
        )
        if record.key is not None and key in record.key
    ]  # fmt: skip
    assert records
    last = records[-1]
    assert last.key is not None
    assert last.value is not None
    # Version 1 of the key: group, topic, partition.
    assert last.key == (
        b"\x00\x01" + len(group).to_bytes(2, "big") + key + len(topic).to_bytes(2, "big") + topic.encode() + bytes(4)
    )
    assert b"in the log" in last.value
