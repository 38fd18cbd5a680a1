"""Topics: creating, naming, growing, deleting, and deleting records."""

import uuid
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-13", "F-01")

UNKNOWN_BROKER = 77
OFFSETS_TOPIC = "__consumer_offsets"


def node_id(client: RawClient) -> int:
    (broker,) = client.metadata().brokers
    return int(broker.node_id)


def partition_count(client: RawClient, name: str) -> int:
    (topic,) = client.metadata(name).topics
    return len(topic.partitions)


def grow(
    client: RawClient,
    name: str,
    count: int,
    *,
    assignments: list[list[int]] | None = None,
    validate_only: bool = False,
    version: int = 3,
) -> Any:
    chosen = None if assignments is None else [{"broker_ids": brokers} for brokers in assignments]
    answer = client.call(
        "create_partitions",
        version,
        topics=[{"name": name, "count": count, "assignments": chosen}],
        timeout=10_000,
        validate_only=validate_only,
    )
    return answer.results[0]


# ----------------------------------------------------------------------------------------------------- creating


@pytest.mark.parametrize("version", range(2, 8))
def test_create_at_every_version(client: RawClient, version: int) -> None:
    """CreateTopics makes a topic at every version; from v5 the answer describes it, from v7 it holds the id."""
    name = unique_name()
    configs = {"retention.ms": "5000"}
    answer = client.create_topics_answer(name, version=version, num_partitions=3, configs=configs)
    assert answer.error_code == ErrorCode.none
    client.wait_for_topic(name, 3)
    if version >= 5:
        assert (answer.num_partitions, answer.replication_factor) == (3, 1)
        described = {config.name: config.value for config in answer.configs}
        assert described["retention.ms"] == "5000"
        assert "segment.bytes" in described
    if version >= 7:
        assert answer.topic_id == client.topic_id(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ü", "x" * 250, "semi;colon", "new\nline"])
def test_invalid_names(client: RawClient, name: str) -> None:
    """A name that is empty, `.`, `..`, over 249 long or has other characters is INVALID_TOPIC_EXCEPTION."""
    assert client.create_topics_answer(name).error_code == ErrorCode.invalid_topic_exception


def test_the_longest_name(client: RawClient) -> None:
    """A name of 249 characters is fine and can be written to."""
    name = unique_name() + "x" * 249
    topic = client.create_topic(name[:249])
    assert client.appended(topic, batches.values("a")) == 0


def test_names_that_differ_in_dot_and_underscore_collide(client: RawClient) -> None:
    """`a.b` and `a_b` would share metric names: the second one is INVALID_TOPIC_EXCEPTION, either way round."""
    dotted = client.create_topic(unique_name("a.b"))
    answer = client.create_topics_answer(dotted.replace(".", "_"))
    assert answer.error_code == ErrorCode.invalid_topic_exception
    underscored = client.create_topic(unique_name("c_d"))
    answer = client.create_topics_answer(underscored.replace("_", "."))
    assert answer.error_code == ErrorCode.invalid_topic_exception


def test_a_name_that_exists(client: RawClient, topic: str) -> None:
    """A topic that exists already is TOPIC_ALREADY_EXISTS, and says so in words."""
    answer = client.create_topics_answer(topic)
    assert answer.error_code == ErrorCode.topic_already_exists
    assert topic in answer.error_message


def test_the_same_name_twice_in_a_request(client: RawClient) -> None:
    """A name that is twice in one request is INVALID_REQUEST, once in the answer, and nothing is created."""
    name = unique_name()
    wanted = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    answer = client.call("create_topics", 7, topics=[wanted, wanted], timeout=10_000)
    assert [(each.name, each.error_code) for each in answer.topics] == [(name, ErrorCode.invalid_request)]
    assert partition_count(client, name) == 0


@pytest.mark.parametrize("count", [0, -2, -100])
def test_partition_counts_that_are_none(client: RawClient, count: int) -> None:
    """A partition count of 0 or below −1 is INVALID_PARTITIONS."""
    answer = client.create_topics_answer(unique_name(), num_partitions=count)
    assert answer.error_code == ErrorCode.invalid_partitions


@pytest.mark.parametrize("version", [4, 7])
def test_minus_1_means_the_default(client: RawClient, version: int) -> None:
    """−1 for partitions and replication factor means the broker's defaults (KIP-464)."""
    name = unique_name()
    answer = client.create_topics_answer(name, version=version, num_partitions=-1, replication_factor=-1)
    assert answer.error_code == ErrorCode.none
    client.wait_for_topic(name, 1)


@pytest.mark.parametrize("factor", [0, -2])
def test_replication_factors_that_are_none(client: RawClient, factor: int) -> None:
    """A replication factor of 0 or below −1 is INVALID_REPLICATION_FACTOR."""
    answer = client.create_topics_answer(unique_name(), replication_factor=factor)
    assert answer.error_code == ErrorCode.invalid_replication_factor


def test_replication_factor_above_the_nodes(client: RawClient, on_penstock: bool) -> None:
    """Kafka refuses more replicas than nodes; Penstock takes the topic and shows the true replicas."""
    name = unique_name()
    answer = client.create_topics_answer(name, replication_factor=3)
    if not on_penstock:
        assert answer.error_code == ErrorCode.invalid_replication_factor
        return
    assert answer.error_code == ErrorCode.none
    assert answer.replication_factor == 1
    (found,) = client.metadata(name).topics
    assert found.partitions[0].replica_nodes == found.partitions[0].isr_nodes == (node_id(client),)


def test_manual_assignment(client: RawClient) -> None:
    """A topic may name the brokers of each partition, with −1 for count and factor."""
    name, node = unique_name(), node_id(client)
    answer = client.create_topics_answer(
        name, num_partitions=-1, replication_factor=-1, assignments={0: [node], 1: [node]}
    )
    assert (answer.error_code, answer.num_partitions) == (ErrorCode.none, 2)
    client.wait_for_topic(name, 2)


@pytest.mark.parametrize("assignments", [{0: [UNKNOWN_BROKER]}, {0: [0], 2: [0]}, {1: [0]}, {0: []}])
def test_assignments_that_cannot_be(client: RawClient, assignments: dict[int, list[int]]) -> None:
    """Unknown brokers, gaps between partitions and empty replica lists are INVALID_REPLICA_ASSIGNMENT."""
    node = node_id(client)
    chosen = {index: [node if broker == 0 else broker for broker in brokers] for index, brokers in assignments.items()}
    name = unique_name()
    answer = client.create_topics_answer(name, num_partitions=-1, replication_factor=-1, assignments=chosen)
    assert answer.error_code == ErrorCode.invalid_replica_assignment
    assert partition_count(client, name) == 0


def test_assignment_and_count_at_once(client: RawClient) -> None:
    """A manual assignment together with a count or factor is INVALID_REQUEST."""
    answer = client.create_topics_answer(unique_name(), assignments={0: [node_id(client)]})
    assert answer.error_code == ErrorCode.invalid_request


def test_validate_only_creates_nothing(client: RawClient) -> None:
    """`validate_only` answers like the real thing and changes nothing."""
    name = unique_name()
    assert client.create_topics_answer(name, validate_only=True).error_code == ErrorCode.none
    (found,) = client.metadata(name).topics
    assert found.error_code == ErrorCode.unknown_topic_or_partition
    bad = client.create_topics_answer("a/b", validate_only=True)
    assert bad.error_code == ErrorCode.invalid_topic_exception


def test_one_bad_topic_does_not_hurt_the_others(client: RawClient) -> None:
    """Each topic of a request succeeds or fails alone."""
    good = unique_name()
    template = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    topics = [{"name": name, **template} for name in (good, "bad/name")]
    answer = client.call("create_topics", 7, topics=topics, timeout=10_000)
    codes = {each.name: each.error_code for each in answer.topics}
    assert codes == {good: ErrorCode.none, "bad/name": ErrorCode.invalid_topic_exception}
    client.wait_for_topic(good, 1)


# ---------------------------------------------------------------------------------------------- internal topics


@pytest.mark.usefixtures("penstock_only")
@pytest.mark.parametrize("name", [OFFSETS_TOPIC, "__transaction_state"])
def test_internal_topics_cannot_be_created_or_deleted(client: RawClient, name: str) -> None:
    """Kafka lets a user make an internal topic with one partition, which breaks groups; Penstock does not."""
    assert client.create_topics_answer(name, num_partitions=1).error_code != ErrorCode.none
    before = partition_count(client, name)
    answer = client.call("delete_topics", 6, topics=[{"name": name, "topic_id": None}], timeout=10_000)
    assert answer.responses[0].error_code != ErrorCode.none
    assert partition_count(client, name) == before


def test_clients_may_not_write_to_the_offsets_topic(client: RawClient) -> None:
    """Produce to `__consumer_offsets` is INVALID_TOPIC_EXCEPTION."""
    answer = client.produce(OFFSETS_TOPIC, batches.batch([batches.Record(key=b"k")]))
    assert answer.error_code == ErrorCode.invalid_topic_exception


def test_records_of_the_offsets_topic_cannot_be_deleted(client: RawClient) -> None:
    """DeleteRecords on `__consumer_offsets` is INVALID_TOPIC_EXCEPTION."""
    assert client.delete_records(OFFSETS_TOPIC, 0).error_code == ErrorCode.invalid_topic_exception


# ------------------------------------------------------------------------------------------------------ growing


@pytest.mark.parametrize("version", range(4))
def test_create_partitions(client: RawClient, topic: str, version: int) -> None:
    """CreatePartitions grows a topic; the old partitions keep their records and the new ones take some."""
    client.appended(topic, batches.values("before"))
    assert grow(client, topic, 3, version=version).error_code == ErrorCode.none
    client.wait_for_topic(topic, 3)
    assert client.log_end(topic, 0) == 1
    assert client.appended(topic, batches.values("after"), partition=2) == 0


@pytest.mark.parametrize("count", [2, 1, 0, -1])
def test_a_topic_cannot_shrink(client: RawClient, count: int) -> None:
    """A count that is not larger than what there is, is INVALID_PARTITIONS."""
    topic = client.create_topic(partitions=2)
    assert grow(client, topic, count).error_code == ErrorCode.invalid_partitions
    assert partition_count(client, topic) == 2


@pytest.mark.parametrize("assignments", [[[UNKNOWN_BROKER]], [], [[0], [0]]])
def test_create_partitions_with_a_wrong_assignment(client: RawClient, topic: str, assignments: list[list[int]]) -> None:
    """Unknown brokers, too few and too many assignments are INVALID_REPLICA_ASSIGNMENT."""
    node = node_id(client)
    chosen = [[node if broker == 0 else broker for broker in brokers] for brokers in assignments]
    answer = grow(client, topic, 2, assignments=chosen)
    assert answer.error_code == ErrorCode.invalid_replica_assignment
    assert partition_count(client, topic) == 1


def test_create_partitions_that_only_validates(client: RawClient, topic: str) -> None:
    """`validate_only` leaves the topic as it is."""
    assert grow(client, topic, 9, validate_only=True).error_code == ErrorCode.none
    assert partition_count(client, topic) == 1


def test_create_partitions_of_an_unknown_topic(client: RawClient) -> None:
    """A topic that does not exist cannot grow: UNKNOWN_TOPIC_OR_PARTITION."""
    assert grow(client, "never-created", 5).error_code == ErrorCode.unknown_topic_or_partition


# ----------------------------------------------------------------------------------------------------- deleting


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_by_name(client: RawClient, topic: str, version: int) -> None:
    """DeleteTopics by name works at every version, and the topic is unknown afterwards."""
    client.appended(topic, batches.values("a"))
    answer = client.call(
        "delete_topics", version, topic_names=[topic], topics=[{"name": topic, "topic_id": None}], timeout=10_000
    )
    assert [(each.name, each.error_code) for each in answer.responses] == [(topic, ErrorCode.none)]

    def gone() -> bool:
        return bool(client.fetch(topic, 0).error_code == ErrorCode.unknown_topic_or_partition)

    wait_until(gone, what="the topic is unknown")


def test_delete_by_id(client: RawClient, topic: str) -> None:
    """From v6 a topic can be deleted by its id, and the answer holds its name."""
    topic_id = client.topic_id(topic)
    answer = client.call("delete_topics", 6, topics=[{"name": None, "topic_id": topic_id}], timeout=10_000)
    (result,) = answer.responses
    assert (result.name, result.topic_id, result.error_code) == (topic, topic_id, ErrorCode.none)


def test_delete_what_is_unknown(client: RawClient) -> None:
    """An unknown name is UNKNOWN_TOPIC_OR_PARTITION, an unknown id UNKNOWN_TOPIC_ID."""
    topics = [{"name": "never-created", "topic_id": None}, {"name": None, "topic_id": uuid.UUID(int=0xBEEF)}]
    answer = client.call("delete_topics", 6, topics=topics, timeout=10_000)
    assert {each.error_code for each in answer.responses} == {
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.unknown_topic_id,
    }


def test_delete_by_name_and_id_at_once(client: RawClient, topic: str) -> None:
    """Name and id for the same topic are INVALID_REQUEST, even when they agree."""
    wanted = {"name": topic, "topic_id": client.topic_id(topic)}
    answer = client.call("delete_topics", 6, topics=[wanted], timeout=10_000)
    assert answer.responses[0].error_code == ErrorCode.invalid_request
    assert partition_count(client, topic) == 1


def test_a_topic_made_again_is_empty(client: RawClient, topic: str) -> None:
    """A topic of the same name as a deleted one has a new id and none of the old records."""
    old_id = client.topic_id(topic)
    client.appended(topic, batches.values("old", "records"))
    client.delete_topic(topic)
    client.create_topic(topic)
    assert client.topic_id(topic) != old_id
    assert client.log_end(topic) == 0
    assert client.appended(topic, batches.values("new")) == 0
    assert [record.value for record in client.fetch_records(topic)] == [b"new"]


# ---------------------------------------------------------------------------------------------- deleting records


@pytest.mark.parametrize("version", range(3))
def test_delete_records(client: RawClient, topic: str, version: int) -> None:
    """DeleteRecords moves the log start to the given offset and tells the new one."""
    client.appended(topic, batches.values("a", "b", "c", "d"))
    wanted = [{"name": topic, "partitions": [{"partition_index": 0, "offset": 3}]}]
    answer = client.call("delete_records", version, topics=wanted, timeout=10_000)
    (result,) = answer.topics[0].partitions
    assert (result.error_code, result.low_watermark) == (ErrorCode.none, 3)
    assert (client.log_start(topic), client.log_end(topic)) == (3, 4)


def test_delete_records_up_to_the_end(client: RawClient, topic: str) -> None:
    """−1 deletes everything up to the high watermark; offsets go on from there."""
    client.appended(topic, batches.values("a", "b"))
    answer = client.delete_records(topic, -1)
    assert (answer.error_code, answer.low_watermark) == (ErrorCode.none, 2)
    assert (client.log_start(topic), client.log_end(topic)) == (2, 2)
    assert client.appended(topic, batches.values("c")) == 2


def test_delete_records_never_moves_back(client: RawClient, topic: str) -> None:
    """An offset below the log start is no error and changes nothing."""
    client.appended(topic, batches.values("a", "b", "c"))
    client.delete_records(topic, 2)
    answer = client.delete_records(topic, 1)
    assert (answer.error_code, answer.low_watermark) == (ErrorCode.none, 2)


@pytest.mark.parametrize("offset", [-2, 4, 10**15])
def test_delete_records_outside_the_log(client: RawClient, topic: str, offset: int) -> None:
    """An offset past the end, or a negative one other than −1, is OFFSET_OUT_OF_RANGE."""
    client.appended(topic, batches.values("a", "b", "c"))
    assert client.delete_records(topic, offset).error_code == ErrorCode.offset_out_of_range
    assert client.log_start(topic) == 0


def test_delete_records_of_what_is_unknown(client: RawClient, topic: str) -> None:
    """Unknown topics and partitions are UNKNOWN_TOPIC_OR_PARTITION."""
    unknown = ErrorCode.unknown_topic_or_partition
    assert client.delete_records("never-created", 0).error_code == unknown
    assert client.delete_records(topic, 0, partition=9).error_code == unknown


def test_delete_records_of_a_compacted_topic(client: RawClient) -> None:
    """A topic that is only compacted does not let go of records on demand: POLICY_VIOLATION."""
    topic = client.create_topic(configs={"cleanup.policy": "compact"})
    client.appended(topic, batches.batch([batches.Record(key=b"k")]))
    assert client.delete_records(topic, 1).error_code == ErrorCode.policy_violation
