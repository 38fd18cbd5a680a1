"""Metadata, DescribeCluster, DescribeTopicPartitions and FindCoordinator: who is where."""

import socket
import uuid
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-01", "F-02")

NOT_ASKED = -(2**31)
TOPIC_OPERATIONS = 3576  # read, write, create, delete, alter, describe, describe and alter configs
CLUSTER_OPERATIONS = 8096
GROUP_OPERATIONS_V3 = 3


@pytest.mark.parametrize("version", range(14))
def test_brokers_and_topic_at_every_version(client: RawClient, broker: BrokerProcess, version: int) -> None:
    """Every version tells the broker's address and the topic's partitions with leader and replicas."""
    name = client.create_topic(partitions=3)
    answer = client.call("metadata", version, topics=[{"name": name, "topic_id": None}])
    (node,) = answer.brokers
    assert (node.host, node.port) == (broker.host, broker.port)
    (found,) = answer.topics
    assert (found.error_code, found.name) == (ErrorCode.none, name)
    assert sorted(each.partition_index for each in found.partitions) == [0, 1, 2]
    for partition in found.partitions:
        assert partition.leader_id == node.node_id
        assert partition.replica_nodes == partition.isr_nodes == (node.node_id,)
        if version >= 5:
            assert partition.offline_replicas == ()
        if version >= 7:
            assert partition.leader_epoch >= 0
    if version >= 1:
        assert answer.controller_id == node.node_id
        assert not found.is_internal
    if version >= 2:
        assert answer.cluster_id
    if version >= 10:
        assert found.topic_id == client.topic_id(name)


@pytest.mark.usefixtures("penstock_only")
def test_the_address_is_the_one_the_client_used(broker: BrokerProcess) -> None:
    """Unless `advertised` is set, clients are told the local address of the socket they came in on."""
    with RawClient(broker.host, broker.port) as client:
        (node,) = client.metadata().brokers
        assert socket.gethostbyname(node.host) == broker.host
        assert node.port == broker.port
        cluster = client.call("describe_cluster", 1)
        assert (cluster.brokers[0].host, cluster.brokers[0].port) == (node.host, node.port)
        coordinator = client.call("find_coordinator", 2, key="group", key_type=0)
        assert (coordinator.host, coordinator.port) == (node.host, node.port)


def test_null_means_all_topics(client: RawClient, topic: str) -> None:
    """From v1 a null list means all topics and an empty one means none; in v0 an empty list means all."""
    assert topic in {each.name for each in client.call("metadata", 1, topics=None).topics}
    assert topic in {each.name for each in client.call("metadata", 12, topics=None).topics}
    assert client.call("metadata", 1, topics=[]).topics == ()
    assert client.call("metadata", 12, topics=[]).topics == ()
    assert topic in {each.name for each in client.call("metadata", 0, topics=[]).topics}


def test_the_cluster_id_is_always_the_same(client: RawClient) -> None:
    """Metadata and DescribeCluster tell the same cluster id, 22 characters long."""
    cluster_id = client.metadata().cluster_id
    assert len(cluster_id) == 22
    assert client.call("describe_cluster", 1).cluster_id == cluster_id


@pytest.mark.parametrize("version", [0, 4, 12])
def test_auto_creation(client: RawClient, version: int) -> None:
    """A topic that is asked for by name comes into being, if the client allows it (before v4 it always does).

    The first answer knows nothing of it yet.
    """
    name = unique_name("auto")

    def asked() -> Any:
        topics = [{"name": name, "topic_id": None}]
        (found,) = client.call("metadata", version, topics=topics, allow_auto_topic_creation=True).topics
        return found

    assert asked().error_code == ErrorCode.unknown_topic_or_partition
    wait_until(lambda: asked().error_code == ErrorCode.none and len(asked().partitions) == 1, what="it was created")


def test_no_auto_creation_when_the_client_says_no(client: RawClient) -> None:
    """From v4 a client may say that it only wants to look."""
    name = unique_name("auto")
    for _ in range(3):
        (found,) = client.metadata(name, create=False).topics
        assert (found.error_code, found.partitions) == (ErrorCode.unknown_topic_or_partition, ())


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("name", ["", "a/b", "..", "x" * 250])
def test_invalid_names(client: RawClient, name: str, create: bool) -> None:
    """A name that no topic can have is INVALID_TOPIC_EXCEPTION, and nothing is created."""
    (found,) = client.metadata(name, create=create).topics
    assert (found.error_code, found.name) == (ErrorCode.invalid_topic_exception, name)


@pytest.mark.parametrize("version", [12, 13])
def test_by_topic_id(client: RawClient, topic: str, version: int) -> None:
    """From v12 topics may be asked for by id; an unknown one is UNKNOWN_TOPIC_ID, without a name."""
    topic_id, unknown = client.topic_id(topic), uuid.UUID(int=0xF00D)
    wanted = [{"name": None, "topic_id": topic_id}, {"name": None, "topic_id": unknown}]
    found = {each.topic_id: each for each in client.call("metadata", version, topics=wanted).topics}
    assert (found[topic_id].error_code, found[topic_id].name) == (ErrorCode.none, topic)
    assert (found[unknown].error_code, found[unknown].name) == (ErrorCode.unknown_topic_id, None)


@pytest.mark.parametrize("version", [10, 11])
def test_by_topic_id_too_early(client: RawClient, topic: str, version: int) -> None:
    """Versions 10 and 11 have room for an id in the request but do not support it: INVALID_REQUEST."""
    wanted = [{"name": None, "topic_id": client.topic_id(topic)}]
    (found,) = client.call("metadata", version, topics=wanted).topics
    assert found.error_code == ErrorCode.invalid_request


def test_a_topic_asked_for_twice_is_told_once(client: RawClient, topic: str) -> None:
    """The same name twice in a request is one topic in the answer."""
    assert len(client.metadata(topic, topic).topics) == 1


def test_internal_topics_are_marked(client: RawClient) -> None:
    """`__consumer_offsets` is a real topic and marked as internal."""
    client.call("find_coordinator", 2, key="group", key_type=0)
    (found,) = client.metadata("__consumer_offsets").topics
    assert (found.error_code, found.is_internal) == (ErrorCode.none, True)
    assert found.partitions


def test_authorized_operations_of_a_topic(client: RawClient, topic: str) -> None:
    """The operations that a client may do on a topic are shown only if requested."""
    (quiet,) = client.metadata(topic).topics
    assert quiet.topic_authorized_operations == NOT_ASKED
    (told,) = client.metadata(topic, include_topic_authorized_operations=True).topics
    assert told.topic_authorized_operations == TOPIC_OPERATIONS


def test_authorized_operations_of_the_cluster(client: RawClient) -> None:
    """Operations on the cluster are shown only if requested, by Metadata v8–10 and DescribeCluster."""
    for version in (8, 10):
        answer = client.call("metadata", version, topics=[], include_cluster_authorized_operations=True)
        assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
        assert client.call("metadata", version, topics=[]).cluster_authorized_operations == NOT_ASKED
    asked = client.call("describe_cluster", 1, include_cluster_authorized_operations=True)
    assert asked.cluster_authorized_operations == CLUSTER_OPERATIONS
    assert client.call("describe_cluster", 1).cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(client: RawClient, broker: BrokerProcess, version: int) -> None:
    """DescribeCluster tells the brokers, the controller and the cluster id; none of them is fenced."""
    answer = client.call("describe_cluster", version)
    assert answer.error_code == ErrorCode.none
    (node,) = answer.brokers
    assert (node.host, node.port, answer.controller_id) == (broker.host, broker.port, node.broker_id)
    if version >= 2:
        assert node.is_fenced is False


def test_describe_cluster_for_controllers(client: RawClient) -> None:
    """A broker's door does not describe controllers: MISMATCHED_ENDPOINT_TYPE."""
    answer = client.call("describe_cluster", 1, endpoint_type=2)
    assert (answer.error_code, answer.brokers) == (ErrorCode.mismatched_endpoint_type, ())


def test_describe_topic_partitions(client: RawClient) -> None:
    """DescribeTopicPartitions tells topics in order of name, with ids, and errors for unknown ones."""
    first, second = client.create_topic(unique_name("a")), client.create_topic(unique_name("b"), partitions=2)
    wanted = [{"name": second}, {"name": "never-created"}, {"name": first}]
    answer = client.call("describe_topic_partitions", 0, topics=wanted, response_partition_limit=100)
    assert [each.name for each in answer.topics] == [first, second, "never-created"]
    assert [len(each.partitions) for each in answer.topics] == [1, 2, 0]
    assert answer.topics[2].error_code == ErrorCode.unknown_topic_or_partition
    assert answer.topics[0].topic_id == client.topic_id(first)
    assert answer.next_cursor is None


def test_describe_topic_partitions_in_portions(client: RawClient) -> None:
    """With a limit the answer ends with a cursor, and going on from it gives the rest."""
    name = client.create_topic(partitions=5)
    seen: list[int] = []
    cursor = None
    while True:
        answer = client.call(
            "describe_topic_partitions", 0, topics=[{"name": name}], response_partition_limit=2, cursor=cursor
        )
        portion = [each.partition_index for each in answer.topics[0].partitions]
        assert 0 < len(portion) <= 2
        seen += portion
        if answer.next_cursor is None:
            break
        assert answer.next_cursor.topic_name == name
        cursor = {"topic_name": name, "partition_index": answer.next_cursor.partition_index}
    assert seen == list(range(5))


@pytest.mark.parametrize("version", range(7))
def test_find_coordinator(client: RawClient, broker: BrokerProcess, version: int) -> None:
    """The coordinator of every group is this broker; from v4 many groups are asked for at once."""
    answer = client.call("find_coordinator", version, key="one", key_type=0, coordinator_keys=["one", "two"])
    found = answer.coordinators if version >= 4 else [answer]
    assert len(found) == (2 if version >= 4 else 1)
    for each in found:
        assert each.error_code == ErrorCode.none
        assert (each.host, each.port) == (broker.host, broker.port)
    if version >= 4:
        assert [each.key for each in found] == ["one", "two"]


def test_find_coordinator_of_an_unknown_type(client: RawClient) -> None:
    """A coordinator type that does not exist is INVALID_REQUEST."""
    assert client.call("find_coordinator", 2, key="x", key_type=9).error_code == ErrorCode.invalid_request


def test_describe_log_dirs(client: RawClient, broker: BrokerProcess) -> None:
    """DescribeLogDirs tells directory, size and room (of a disk), for the topics asked for or all of them."""
    name = client.create_topic(partitions=2)
    for version in range(1, 6):
        asked = client.call("describe_log_dirs", version, topics=[{"topic": name, "partitions": [0]}])
        (result,) = asked.results
        assert result.error_code == ErrorCode.none
        assert result.log_dir
        (found,) = result.topics
        assert [each.partition_index for each in found.partitions] == [0]
        if version >= 4 and broker.is_durable:
            assert result.total_bytes >= result.usable_bytes > 0
        (everything,) = client.call("describe_log_dirs", version, topics=None).results
        assert name in {each.name for each in everything.topics}


def test_electing_a_leader_is_not_needed(client: RawClient, topic: str) -> None:
    """One node already leads: ELECTION_NOT_NEEDED for what exists, UNKNOWN_TOPIC_OR_PARTITION for the rest."""
    wanted = [{"topic": topic, "partitions": [0, 9]}]
    for version in range(3):
        answer = client.call("elect_leaders", version, election_type=0, topic_partitions=wanted, timeout=10_000)
        (result,) = answer.replica_election_results
        codes = {each.partition_id: each.error_code for each in result.partition_result}
        assert codes == {0: ErrorCode.election_not_needed, 9: ErrorCode.unknown_topic_or_partition}


def test_reassigning_to_where_it_is(client: RawClient, topic: str) -> None:
    """Reassigning to the same broker is done at once; unknown brokers and partitions are refused."""
    (node,) = client.metadata().brokers
    wanted = [
        {"partition_index": 0, "replicas": [node.node_id]},
        {"partition_index": 9, "replicas": [node.node_id]},
    ]
    answer = client.call(
        "alter_partition_reassignments", 0, timeout=10_000, topics=[{"name": topic, "partitions": wanted}]
    )
    codes = {each.partition_index: each.error_code for each in answer.responses[0].partitions}
    assert codes == {0: ErrorCode.none, 9: ErrorCode.unknown_topic_or_partition}
    listed = client.call("list_partition_reassignments", 0, timeout=10_000, topics=None)
    assert (listed.error_code, listed.topics) == (ErrorCode.none, ())


@pytest.mark.parametrize(
    ("replicas", "code"),
    [([77], ErrorCode.invalid_replica_assignment), ([], ErrorCode.invalid_replica_assignment),
     (None, ErrorCode.no_reassignment_in_progress)],
)  # fmt: skip
def test_reassigning_to_nowhere(client: RawClient, topic: str, replicas: list[int] | None, code: ErrorCode) -> None:
    """An unknown broker or none is INVALID_REPLICA_ASSIGNMENT; there is nothing to cancel."""
    wanted = [{"name": topic, "partitions": [{"partition_index": 0, "replicas": replicas}]}]
    answer = client.call("alter_partition_reassignments", 1, timeout=10_000, topics=wanted)
    assert answer.responses[0].partitions[0].error_code == code


def test_features_that_nobody_knows(client: RawClient) -> None:
    """An update of a feature that does not exist is INVALID_UPDATE_VERSION."""
    update = {"feature": "no.such.feature", "max_version_level": 1, "upgrade_type": 1}
    answer = client.call("update_features", 2, timeout=10_000, feature_updates=[update])
    assert answer.error_code == ErrorCode.invalid_update_version
