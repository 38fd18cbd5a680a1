"""Metadata, DescribeCluster and DescribeTopicPartitions: every version, and answers that are bytes already."""

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.model.errors import ErrorCode
from penstock.storage.interface import LogState
from tests.support.admin_broker import AdminBroker, new_topic
from tests.support.plain_engine import opened_log

pytestmark = pytest.mark.feature("F-01")

VERSIONS = range(14)
NOT_ASKED = -(1 << 31)

TOPIC_OPERATIONS, CLUSTER_OPERATIONS = 3576, 8096  # all bits that Kafka has for each


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker(node={"id": 5, "rack": "r1"}) as node:
        yield node


def named(*names: str) -> list[dict[str, object]]:
    return [{"name": name, "topic_id": None} for name in names]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_shows_brokers_and_partitions(node: AdminBroker, version: int) -> None:
    node.create("orders", 3)
    answer = node.call("metadata", version, topics=named("orders"))
    (broker,) = answer.brokers
    assert (broker.node_id, broker.host, broker.port) == (5, "10.0.0.9", 19092)
    (topic,) = answer.topics
    assert (topic.error_code, topic.name) == (0, "orders")
    assert [partition.partition_index for partition in topic.partitions] == [0, 1, 2]
    for partition in topic.partitions:
        assert (partition.error_code, partition.leader_id) == (0, 5)
        assert partition.replica_nodes == partition.isr_nodes == (5,)
    if version >= 1:
        assert (broker.rack, answer.controller_id, topic.is_internal) == ("r1", 5, False)
    if version >= 2:
        assert answer.cluster_id == node.store.cluster_id
    if version >= 7:
        assert {partition.leader_epoch for partition in topic.partitions} == {0}
    if version >= 10:
        known = node.topics.get("orders")
        assert known is not None
        assert topic.topic_id == known.topic_id


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_can_say_no(node: AdminBroker, version: int) -> None:
    answer = node.call("metadata", version, topics=named("a/b"))
    (topic,) = answer.topics
    assert (topic.error_code, topic.name, topic.partitions) == (ErrorCode.INVALID_TOPIC_EXCEPTION, "a/b", ())


def test_which_topics_are_meant(node: AdminBroker) -> None:
    node.create("a")
    node.create("b")
    assert [topic.name for topic in node.call("metadata", 0, topics=[]).topics] == ["a", "b"]
    assert node.call("metadata", 1, topics=[]).topics == ()
    assert [topic.name for topic in node.call("metadata", 1, topics=None).topics] == ["a", "b"]
    assert [topic.name for topic in node.call("metadata", 12, topics=named("b", "a", "b")).topics] == ["b", "a"]


def test_by_id(node: AdminBroker) -> None:
    node.create("a")
    known = node.topics.get("a")
    assert known is not None
    wanted = [{"name": None, "topic_id": known.topic_id}, {"name": None, "topic_id": uuid.uuid4()}]
    found, unknown = node.call("metadata", 12, topics=wanted).topics
    assert (found.error_code, found.name) == (0, "a")
    assert (unknown.error_code, unknown.name) == (ErrorCode.UNKNOWN_TOPIC_ID, None)
    assert unknown.topic_id == wanted[1]["topic_id"]
    (early,) = node.call("metadata", 10, topics=[{"name": None, "topic_id": known.topic_id}]).topics
    assert (early.error_code, early.name) == (ErrorCode.INVALID_REQUEST, "")
    answer = node.call("metadata", 13, topics=[{"name": None, "topic_id": None}, {"name": "a", "topic_id": None}])
    assert [answer.error_code, *(topic.error_code for topic in answer.topics)] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 3
    assert not answer.brokers


def asked_twice(node: AdminBroker, name: str, version: int = 12) -> Any:
    """The answer about a topic that is made by asking for it: unknown at first, then there."""
    codes = []
    for _ in range(2):
        (topic,) = node.call("metadata", version, topics=named(name), allow_auto_topic_creation=True).topics
        codes.append(topic.error_code)
    assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE]
    return topic


def test_auto_creation_is_seen_by_who_asks_again(node: AdminBroker) -> None:
    assert len(asked_twice(node, "new").partitions) == 1
    (refused,) = node.call("metadata", 12, topics=named("other"), allow_auto_topic_creation=False).topics
    assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert node.topics.get("other") is None
    asked_twice(node, "oldest", version=1)


def test_auto_creation_makes_internal_topics_in_their_right_shape() -> None:
    with AdminBroker(groups={"offsets_topic_partitions": 7}) as node:
        topic = asked_twice(node, "__consumer_offsets")
        assert (topic.is_internal, len(topic.partitions)) == (True, 7)


def test_auto_creation_can_be_switched_off() -> None:
    with AdminBroker(topics={"auto_create": False, "default_partitions": 4}) as node:
        (topic,) = node.call("metadata", 12, topics=named("new"), allow_auto_topic_creation=True).topics
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_auto_creation_that_cannot_be(node: AdminBroker) -> None:
    node.create("a.b")
    for _ in range(2):
        (topic,) = node.call("metadata", 12, topics=named("a_b"), allow_auto_topic_creation=True).topics
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_auto_creation_by_many_at_once(node: AdminBroker) -> None:
    async def ask_together() -> list[Any]:
        asks = [node.ask("metadata", 12, topics=named("hot"), allow_auto_topic_creation=True) for _ in range(20)]
        return list(await asyncio.gather(*asks))

    answers = node.run(ask_together())
    assert {answer.topics[0].error_code for answer in answers} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(node.topics) == 1


def test_authorized_operations(node: AdminBroker) -> None:
    node.create("a")
    answer = node.call(
        "metadata",
        9,
        topics=named("a"),
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    assert answer.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
    silent = node.call("metadata", 9, topics=named("a"))
    assert silent.topics[0].topic_authorized_operations == silent.cluster_authorized_operations == NOT_ASKED


def test_changes_show_at_once_though_answers_are_kept(node: AdminBroker) -> None:
    node.create("a", 1)
    before = node.call("metadata", 12, topics=named("a")).topics[0]
    assert len(node.call("metadata", 12, topics=named("a")).topics[0].partitions) == 1
    node.call("create_partitions", 3, topics=[{"name": "a", "count": 2, "assignments": None}], timeout=1000)
    assert len(node.call("metadata", 12, topics=named("a")).topics[0].partitions) == 2
    node.call("delete_topics", 6, topics=named("a"), timeout=1000)
    node.create("a", 1)
    after = node.call("metadata", 12, topics=named("a")).topics[0]
    assert after.topic_id != before.topic_id


@pytest.mark.parametrize("version", [0, 5, 9, 13])
def test_a_partition_whose_log_failed_has_no_leader(node: AdminBroker, version: int) -> None:
    node.create("a", 2)
    node.call("metadata", version, topics=named("a"))
    log = opened_log(node.partitions.get("a", 1)._log)
    log.state = LogState.OFFLINE
    node.partitions.on_flushed(log)
    good, bad = node.call("metadata", version, topics=named("a")).topics[0].partitions
    assert (good.error_code, good.leader_id) == (0, 5)
    assert (bad.error_code, bad.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    if version >= 5:
        assert (good.offline_replicas, bad.offline_replicas) == ((), (5,))


def test_the_advertised_address() -> None:
    with AdminBroker(kafka={"advertised": "kafka.example:9999"}) as node:
        (broker,) = node.call("metadata", 12, topics=[]).brokers
        assert (broker.host, broker.port) == ("kafka.example", 9999)
    with AdminBroker() as node:
        (came_in_on,) = node.call("metadata", 12, topics=[]).brokers
    with AdminBroker(kafka={"advertised": "kafka.example"}) as node:
        (broker,) = node.call("metadata", 12, topics=[]).brokers
        assert (broker.host, broker.port) == ("kafka.example", came_in_on.port)


@pytest.mark.parametrize("version", [4, 12])
def test_an_answer_over_many_topics_gives_the_loop_away(node: AdminBroker, version: int) -> None:
    for first in range(0, 10_000, 1000):
        wanted = [new_topic(f"t{number}") for number in range(first, first + 1000)]
        node.call("create_topics", 4, topics=wanted, timeout=1000)

    async def watch() -> tuple[int, bytes]:
        turns, asking = 0, asyncio.ensure_future(node.ask_bytes("metadata", version, topics=None))
        while not asking.done():
            await asyncio.sleep(0)
            turns += 1
        return turns, asking.result()

    turns, cold = node.run(watch())
    assert turns > 3
    assert node.run(node.ask_bytes("metadata", version, topics=None)) == cold
    assert len(node.call("metadata", version, topics=None).topics) == 10_000


# ------------------------------------------------------------------------------------------------ DescribeCluster


@pytest.mark.parametrize("version", [0, 1, 2])
def test_describe_cluster(node: AdminBroker, version: int) -> None:
    answer = node.call("describe_cluster", version, include_cluster_authorized_operations=True, endpoint_type=1)
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (0, node.store.cluster_id, 5)
    (broker,) = answer.brokers
    assert (broker.broker_id, broker.host, broker.port, broker.rack) == (5, "10.0.0.9", 19092, "r1")
    assert answer.cluster_authorized_operations == 8096


@pytest.mark.parametrize(("kind", "code"), [(2, 114), (3, 115), (0, 115)])
@pytest.mark.parametrize("version", [1, 2])
def test_describe_cluster_of_other_kinds(node: AdminBroker, version: int, kind: int, code: int) -> None:
    answer = node.call("describe_cluster", version, endpoint_type=kind)
    assert (answer.error_code, answer.cluster_id, answer.brokers) == (code, "", ())


# ---------------------------------------------------------------------------------------- DescribeTopicPartitions


def test_describe_topic_partitions(node: AdminBroker) -> None:
    node.create("b", 2)
    node.create("a", 1)
    wanted = [{"name": "b"}, {"name": "none"}, {"name": "a"}, {"name": "a/b"}]
    answer = node.call("describe_topic_partitions", 0, topics=wanted, response_partition_limit=2000, cursor=None)
    found = [(topic.name, topic.error_code, len(topic.partitions)) for topic in answer.topics]
    assert found == [("a", 0, 1), ("a/b", 17, 0), ("b", 0, 2), ("none", 3, 0)]
    partition = answer.topics[2].partitions[1]
    assert (partition.partition_index, partition.leader_id, partition.replica_nodes) == (1, 5, (5,))
    assert partition.eligible_leader_replicas == partition.last_known_elr == ()
    assert answer.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    assert answer.next_cursor is None


def test_describe_topic_partitions_page_by_page(node: AdminBroker) -> None:
    for name, count in (("a", 3), ("b", 1), ("c", 4)):
        node.create(name, count)
    seen: list[tuple[str, int]] = []
    cursor = None
    for _ in range(10):
        answer = node.call("describe_topic_partitions", 0, topics=[], response_partition_limit=2, cursor=cursor)
        seen += [(topic.name, part.partition_index) for topic in answer.topics for part in topic.partitions]
        if answer.next_cursor is None:
            break
        cursor = {
            "topic_name": answer.next_cursor.topic_name,
            "partition_index": answer.next_cursor.partition_index,
        }
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1), ("c", 2), ("c", 3)]


@pytest.mark.parametrize("cursor", [("t", -1), ("", 0), ("other", 0)])
def test_describe_topic_partitions_from_nowhere(node: AdminBroker, cursor: tuple[str, int]) -> None:
    node.create("t")
    answer = node.call(
        "describe_topic_partitions",
        0,
        topics=[{"name": "t"}],
        response_partition_limit=2,
        cursor={"topic_name": cursor[0], "partition_index": cursor[1]},
    )
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]


def test_describe_topic_partitions_from_a_topic_that_went(node: AdminBroker) -> None:
    node.create("z", 2)
    cursor = {"topic_name": "gone", "partition_index": 7}
    answer = node.call("describe_topic_partitions", 0, topics=[], response_partition_limit=9, cursor=cursor)
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == [("z", 2)]
