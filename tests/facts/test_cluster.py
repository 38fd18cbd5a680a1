"""DescribeQuorum and AlterReplicaLogDirs of a cluster of one node."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support.raw_client import RawClient, unique_name

pytestmark = pytest.mark.feature("F-01")

METADATA = "__cluster_metadata"
UNKNOWN = ErrorCode.unknown_topic_or_partition


def quorum(client: RawClient, version: int, *topics: tuple[str, list[int]]) -> Any:
    asked = [
        {"topic_name": name, "partitions": [{"partition_index": index} for index in indexes]}
        for name, indexes in topics
    ]
    return client.call("describe_quorum", version, topics=asked)


def moved(client: RawClient, version: int, *moves: tuple[str, str, list[int]]) -> dict[tuple[str, int], ErrorCode]:
    dirs = [{"path": path, "topics": [{"name": topic, "partitions": partitions}]} for path, topic, partitions in moves]
    answer = client.call("alter_replica_log_dirs", version, dirs=dirs)
    return {(t.topic_name, p.partition_index): p.error_code for t in answer.results for p in t.partitions}


@pytest.fixture
def directory(client: RawClient) -> str:
    (result,) = client.call("describe_log_dirs", 4, topics=[]).results
    return str(result.log_dir)


@pytest.mark.parametrize("version", range(3))
def test_the_quorum_is_this_node(client: RawClient, version: int) -> None:
    """Leader and only voter, without observers."""
    (node,) = client.metadata().brokers
    answer = quorum(client, version, (METADATA, [0]))
    ((partition,),) = [topic.partitions for topic in answer.topics]
    (voter,) = partition.current_voters
    assert (answer.error_code, partition.error_code) == (ErrorCode.none, ErrorCode.none)
    assert partition.leader_id == voter.replica_id == node.node_id
    assert partition.high_watermark == voter.log_end_offset > 0
    if version >= 2:
        assert voter.replica_directory_id is None
        assert [(each.node_id, len(each.listeners)) for each in answer.nodes] == [(node.node_id, 1)]


@pytest.mark.parametrize("version", range(3))
def test_other_topics_have_no_quorum(client: RawClient, topic: str, version: int) -> None:
    """Everything asked for fails together, the known quorum included."""
    for asked in ([(METADATA, [1])], [(METADATA, [0, 1])], [(topic, [0])], [(METADATA, [0]), (topic, [0])]):
        answer = quorum(client, version, *asked)
        partitions = [partition for each in answer.topics for partition in each.partitions]
        assert (answer.error_code, {partition.error_code for partition in partitions}) == (ErrorCode.none, {UNKNOWN})
        assert [(partition.leader_id, partition.high_watermark) for partition in partitions] == [(0, 0)] * len(
            partitions
        )
    assert quorum(client, version).topics == ()


@pytest.mark.parametrize("version", [1, 2])
def test_replicas_stay_where_they_are(client: RawClient, topic: str, directory: str, version: int) -> None:
    """The one directory is accepted, in the spelling of DescribeLogDirs; no other is."""
    assert moved(client, version, (directory, topic, [0])) == {(topic, 0): ErrorCode.none}
    for path in ("/nowhere", "", f"{directory}/", "data"):
        assert moved(client, version, (path, topic, [0, 7])) == {
            (topic, 0): ErrorCode.log_dir_not_found,
            (topic, 7): ErrorCode.log_dir_not_found,
        }
    nobody = unique_name()
    assert moved(client, version, (directory, topic, [7, -1]), (directory, nobody, [0])) == {
        (topic, 7): UNKNOWN,
        (topic, -1): UNKNOWN,
        (nobody, 0): UNKNOWN,
    }


@pytest.mark.parametrize("version", [1, 2])
def test_a_partition_named_twice(client: RawClient, topic: str, directory: str, version: int) -> None:
    """The last directory counts, and there is one answer."""
    assert moved(client, version, ("/nowhere", topic, [0]), (directory, topic, [0, 0])) == {(topic, 0): ErrorCode.none}
    assert moved(client, version, (directory, topic, [0]), ("/nowhere", topic, [0])) == {
        (topic, 0): ErrorCode.log_dir_not_found
    }
    assert moved(client, version, (directory, topic, [])) == {}
