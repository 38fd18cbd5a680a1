"""DescribeQuorum and AlterReplicaLogDirs at every version, on a node that is a cluster by itself."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.model.errors import ErrorCode
from tests.support.admin_broker import AdminBroker

pytestmark = pytest.mark.feature("F-01")

METADATA = "__cluster_metadata"


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker() as node:
        node.create("t", 2)
        yield node


def quorum(node: AdminBroker, version: int, *topics: tuple[str, list[int]]) -> Any:
    asked = [
        {"topic_name": name, "partitions": [{"partition_index": index} for index in indexes]}
        for name, indexes in topics
    ]
    return node.call("describe_quorum", version, topics=asked)


def moved(node: AdminBroker, version: int, *moves: tuple[str, str, list[int]]) -> dict[tuple[str, int], int]:
    dirs = [{"path": path, "topics": [{"name": topic, "partitions": partitions}]} for path, topic, partitions in moves]
    answer = node.call("alter_replica_log_dirs", version, dirs=dirs)
    return {(t.topic_name, p.partition_index): int(p.error_code) for t in answer.results for p in t.partitions}


@pytest.mark.parametrize("version", range(3))
def test_this_node_is_the_whole_quorum(node: AdminBroker, version: int) -> None:
    answer = quorum(node, version, (METADATA, [0]))
    ((partition,),) = [topic.partitions for topic in answer.topics]
    assert (answer.error_code, partition.error_code, partition.leader_id) == (0, 0, 1)
    (voter,) = partition.current_voters
    assert (voter.replica_id, voter.log_end_offset, partition.observers) == (1, partition.high_watermark, ())
    if version >= 1:
        assert voter.last_fetch_timestamp == voter.last_caught_up_timestamp > 0
    if version >= 2:
        assert (answer.error_message, partition.error_message, voter.replica_directory_id) == ("", "", None)
        ((listener,),) = [each.listeners for each in answer.nodes]
        assert (listener.name, listener.host, listener.port) == ("PLAINTEXT", "10.0.0.9", 19092)


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize(
    "asked",
    [[(METADATA, [1])], [(METADATA, [0, 1])], [("t", [0])], [(METADATA, [0]), ("t", [0])], [(METADATA, [0, 0])]],
)
def test_anything_else_is_no_quorum(node: AdminBroker, version: int, asked: list[tuple[str, list[int]]]) -> None:
    answer = quorum(node, version, *asked)
    partitions = [partition for topic in answer.topics for partition in topic.partitions]
    assert [partition.partition_index for partition in partitions] == [index for _, ids in asked for index in ids]
    assert {int(partition.error_code) for partition in partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert (answer.error_code, getattr(answer, "nodes", ())) == (0, ())


def test_changes_move_the_end_of_the_log(node: AdminBroker) -> None:
    before = quorum(node, 2, (METADATA, [0])).topics[0].partitions[0].high_watermark
    node.create("another")
    assert quorum(node, 2, (METADATA, [0])).topics[0].partitions[0].high_watermark > before


@pytest.mark.parametrize("version", [1, 2])
def test_replicas_are_where_they_can_be(node: AdminBroker, version: int) -> None:
    here = str(node.settings.node.data_dir.absolute())
    assert moved(node, version, (here, "t", [0, 1])) == {("t", 0): 0, ("t", 1): 0}
    not_found = ErrorCode.LOG_DIR_NOT_FOUND
    assert moved(node, version, ("/nowhere", "t", [0, 7])) == {("t", 0): not_found, ("t", 7): not_found}
    assert moved(node, version, (f"{here}/", "t", [0]), ("", "u", [0])) == {("t", 0): not_found, ("u", 0): not_found}
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert moved(node, version, (here, "t", [7, -1]), (here, "u", [0])) == {
        ("t", 7): unknown,
        ("t", -1): unknown,
        ("u", 0): unknown,
    }


@pytest.mark.parametrize("version", [1, 2])
def test_the_last_word_counts(node: AdminBroker, version: int) -> None:
    here = str(node.settings.node.data_dir.absolute())
    assert moved(node, version, ("/nowhere", "t", [0]), (here, "t", [0, 0])) == {("t", 0): 0}
    assert moved(node, version, (here, "t", [0]), ("/nowhere", "t", [0])) == {("t", 0): ErrorCode.LOG_DIR_NOT_FOUND}
    assert moved(node, version, (here, "t", [])) == {}
    assert moved(node, version) == {}
