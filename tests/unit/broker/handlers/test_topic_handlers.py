"""CreateTopics, DeleteTopics, CreatePartitions, DeleteRecords and what shows partitions: every version, both ways."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.model.errors import ErrorCode
from penstock.storage.interface import LogState, ProducerView
from tests.support.admin_broker import AdminBroker, new_topic
from tests.support.plain_engine import BYTES_PER_RECORD, opened_log

pytestmark = pytest.mark.feature("K-13", "F-01")


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker() as node:
        yield node


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "topic_id": None} for name in names]


# ---------------------------------------------------------------------------------------------------- CreateTopics


@pytest.mark.parametrize("version", range(2, 8))
def test_create_at_every_version(node: AdminBroker, version: int) -> None:
    wanted = [new_topic("good", 2, {"retention.ms": "5"}), new_topic("a/b")]
    good, bad = node.call("create_topics", version, topics=wanted, timeout=1000).topics
    assert (good.name, good.error_code, good.error_message) == ("good", 0, None)
    assert (bad.name, bad.error_code) == ("a/b", ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert bad.error_message.startswith("Topic name is invalid: 'a/b' contains")
    if version >= 5:
        assert (good.num_partitions, good.replication_factor) == (2, 1)
        assert (bad.num_partitions, bad.replication_factor, bad.configs) == (-1, -1, ())
        configs = {config.name: (config.value, config.config_source) for config in good.configs}
        assert len(configs) == 34
        assert configs["retention.ms"] == ("5", 1)
        assert configs["segment.bytes"] == ("1073741824", 5)
    if version >= 7:
        known = node.topics.get("good")
        assert known is not None
        assert (good.topic_id, bad.topic_id) == (known.topic_id, None)


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (new_topic(""), 17),
        (new_topic("."), 17),
        (new_topic(".."), 17),
        (new_topic("x" * 250), 17),
        (new_topic("ü"), 17),
        (new_topic("there"), 36),
        (new_topic("a_b"), 17),
        (new_topic("__consumer_offsets"), 42),
        (new_topic("__transaction_state"), 42),
        (new_topic("__cluster_metadata"), 42),
        (new_topic("t", 0), 37),
        (new_topic("t", -2), 37),
        (new_topic("t", replication_factor=0), 38),
        (new_topic("t", replication_factor=-2), 38),
        (new_topic("t", 1_000_000), 44),
        (new_topic("t", 1, {"nope": "1"}), 40),
        (new_topic("t", 1, {"segment.bytes": "1048575"}), 40),
        (new_topic("t", 1, {"retention.ms": None}), 40),
        (new_topic("t", 3, assignments={0: [1]}), 42),
        (new_topic("t", -1, replication_factor=-1, assignments={0: [9]}), 39),
        (new_topic("t", -1, replication_factor=-1, assignments={0: []}), 39),
        (new_topic("t", -1, replication_factor=-1, assignments={0: [1, 1]}), 39),
        (new_topic("t", -1, replication_factor=-1, assignments={0: [1], 2: [1]}), 39),
    ],
)
def test_topics_that_cannot_be(node: AdminBroker, topic: dict[str, Any], code: int) -> None:
    node.create("there")
    node.create("a.b")
    (answer,) = node.call("create_topics", 7, topics=[topic], timeout=1000).topics
    assert (answer.error_code, bool(answer.error_message)) == (code, True)
    assert len(node.topics) == 2


def test_defaults_assignments_and_generous_factors(node: AdminBroker) -> None:
    wanted = [
        new_topic("default", -1, replication_factor=-1),
        new_topic("assigned", -1, replication_factor=-1, assignments={1: [1], 0: [1]}),
        new_topic("three", 1, replication_factor=3),
    ]
    default, assigned, three = node.call("create_topics", 7, topics=wanted, timeout=1000).topics
    assert (default.error_code, default.num_partitions) == (0, 1)
    assert (assigned.error_code, assigned.num_partitions) == (0, 2)
    assert (three.error_code, three.replication_factor) == (0, 1)
    (shown,) = node.call("metadata", 12, topics=named("three")).topics
    assert shown.partitions[0].replica_nodes == (1,)


def test_a_strict_node_refuses_factors_it_cannot_have() -> None:
    with AdminBroker(topics={"strict_replication_factor": True}) as node:
        assert node.create_answer("t", replication_factor=3).error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        assert node.create_answer("t", replication_factor=1).error_code == 0


def test_twins_in_one_request(node: AdminBroker) -> None:
    wanted = [new_topic("x"), new_topic("y"), new_topic("x"), new_topic("c.d"), new_topic("c_d")]
    answer = node.call("create_topics", 7, topics=wanted, timeout=1000)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("x", ErrorCode.INVALID_REQUEST),
        ("y", 0),
        ("c.d", 0),
        ("c_d", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]


def test_validate_only(node: AdminBroker) -> None:
    assert node.create_answer("t", 3, validate_only=True).num_partitions == 3
    assert len(node.topics) == 0


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_that_is_over(node: AdminBroker, timeout: int) -> None:
    node.create("there")
    (topic,) = node.call("create_topics", 7, topics=[new_topic("t")], timeout=timeout).topics
    assert topic.error_code == ErrorCode.REQUEST_TIMED_OUT
    (topic,) = node.call("delete_topics", 6, topics=named("there"), timeout=timeout).responses
    assert topic.error_code == ErrorCode.REQUEST_TIMED_OUT
    grown = [{"name": "there", "count": 2, "assignments": None}]
    (result,) = node.call("create_partitions", 3, topics=grown, timeout=timeout).results
    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert [(topic.name, topic.partition_count) for topic in node.topics.all()] == [("there", 1)]


# ---------------------------------------------------------------------------------------------------- DeleteTopics


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_at_every_version(node: AdminBroker, version: int) -> None:
    node.create("t")
    names = {"topics": named("t", "none")} if version >= 6 else {"topic_names": ["t", "none"]}
    gone, unknown = node.call("delete_topics", version, timeout=1000, **names).responses
    assert (gone.name, gone.error_code) == ("t", 0)
    assert (unknown.name, unknown.error_code) == ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert node.topics.get("t") is None


def test_delete_by_id(node: AdminBroker) -> None:
    node.create("t")
    known = node.topics.get("t")
    assert known is not None
    stranger = uuid.uuid4()
    wanted = [{"name": None, "topic_id": known.topic_id}, {"name": None, "topic_id": stranger}]
    gone, unknown = node.call("delete_topics", 6, topics=wanted, timeout=1000).responses
    assert (gone.name, gone.topic_id, gone.error_code) == ("t", known.topic_id, 0)
    assert (unknown.name, unknown.topic_id, unknown.error_code) == (None, stranger, ErrorCode.UNKNOWN_TOPIC_ID)


def test_deletions_that_contradict_themselves(node: AdminBroker) -> None:
    node.create("t")
    node.create("u")
    known = node.topics.get("t")
    assert known is not None
    for wanted, message in (
        (named("t", "t"), "Duplicate topic name."),
        ([{"name": None, "topic_id": known.topic_id}] * 2, "Duplicate topic id."),
        ([{"name": None, "topic_id": None}], "Neither topic name nor id were specified."),
        ([{"name": "t", "topic_id": known.topic_id}], "You may not specify both topic name and topic id."),
        (
            [*named("t"), {"name": None, "topic_id": known.topic_id}],
            "The provided topic name maps to an ID that was already supplied.",
        ),
    ):
        (answer,) = node.call("delete_topics", 6, topics=wanted, timeout=1000).responses
        assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert len(node.topics) == 2


def test_internal_topics_stay(node: AdminBroker) -> None:
    node.run(node.controller.topics.ensure_internal("__consumer_offsets"))
    (answer,) = node.call("delete_topics", 6, topics=named("__consumer_offsets"), timeout=1000).responses
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    grown = [{"name": "__consumer_offsets", "count": 60, "assignments": None}]
    (result,) = node.call("create_partitions", 3, topics=grown, timeout=1000).results
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert node.create_answer("__consumer_offsets").error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    topic = node.topics.get("__consumer_offsets")
    assert topic is not None
    assert topic.partition_count == 50


# ------------------------------------------------------------------------------------------------ CreatePartitions


@pytest.mark.parametrize("version", range(4))
def test_grow_at_every_version(node: AdminBroker, version: int) -> None:
    node.create("t", 2)
    wanted = [
        {"name": "t", "count": 3, "assignments": None},
        {"name": "none", "count": 3, "assignments": None},
    ]
    good, bad = node.call("create_partitions", version, topics=wanted, timeout=1000).results
    assert (good.name, good.error_code, good.error_message) == ("t", 0, None)
    assert (bad.name, bad.error_code) == ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert node.partitions.get("t", 2).index == 2


@pytest.mark.parametrize(
    ("count", "assignments", "code"),
    [
        (2, None, 37),
        (1, None, 37),
        (-1, None, 37),
        (3, [], 39),
        (4, [[1]], 39),
        (3, [[9]], 39),
        (3, [[]], 39),
        (3, [[1, 1]], 39),
        (3, [[1]], 0),
        (1_000_000, None, 44),
    ],
)
def test_growth_that_can_and_cannot_be(
    node: AdminBroker, count: int, assignments: list[list[int]] | None, code: int
) -> None:
    node.create("t", 2)
    chosen = None if assignments is None else [{"broker_ids": ids} for ids in assignments]
    wanted = [{"name": "t", "count": count, "assignments": chosen}]
    (result,) = node.call("create_partitions", 3, topics=wanted, timeout=1000).results
    assert result.error_code == code


def test_growing_twice_in_one_request(node: AdminBroker) -> None:
    node.create("t", 2)
    wanted = [{"name": "t", "count": count, "assignments": None} for count in (3, 4)]
    (result,) = node.call("create_partitions", 3, topics=wanted, timeout=1000).results
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")


# --------------------------------------------------------------------------------------------------- DeleteRecords


def delete_records(node: AdminBroker, topic: str, offset: int, version: int = 2, partition: int = 0) -> Any:
    wanted = [{"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}]
    (answer,) = node.call("delete_records", version, topics=wanted, timeout=1000).topics
    assert answer.name == topic
    (result,) = answer.partitions
    return int(result.error_code), result.low_watermark


@pytest.mark.parametrize("version", range(3))
def test_delete_records_at_every_version(node: AdminBroker, version: int) -> None:
    node.create("t")
    log = opened_log(node.partitions.get("t", 0)._log)
    log.grow(5)
    log.flush()
    node.partitions.on_flushed(log)
    log.grow(1)  # not flushed: not visible, not to be deleted
    assert delete_records(node, "t", 3, version) == (0, 3)
    assert delete_records(node, "t", 2, version) == (0, 3)
    assert delete_records(node, "t", 6, version) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete_records(node, "t", -2, version) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete_records(node, "t", -1, version) == (0, 5)
    assert delete_records(node, "t", 0, version, partition=9) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete_records(node, "none", 0, version) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_records_that_must_not_be_deleted(node: AdminBroker) -> None:
    node.create("compacted", cleanup_policy="compact")
    node.create("both", cleanup_policy="compact,delete")
    node.create("failed")
    opened_log(node.partitions.get("failed", 0)._log).state = LogState.OFFLINE
    node.run(node.controller.topics.ensure_internal("__consumer_offsets"))
    assert delete_records(node, "compacted", 0) == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete_records(node, "both", 0) == (0, 0)
    assert delete_records(node, "failed", 0) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    assert delete_records(node, "__consumer_offsets", 0) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


# ------------------------------------------------------------------------------- DescribeLogDirs, DescribeProducers


@pytest.mark.parametrize("version", range(1, 6))
def test_log_dirs_at_every_version(node: AdminBroker, version: int) -> None:
    node.create("t", 2)
    log = opened_log(node.partitions.get("t", 1)._log)
    log.grow(3)
    wanted = [{"topic": "t", "partitions": [0, 1, 9]}, {"topic": "none", "partitions": [0]}]
    (result,) = node.call("describe_log_dirs", version, topics=wanted).results
    assert result.log_dir == str(node.settings.node.data_dir.absolute())
    (topic,) = result.topics
    assert [(each.partition_index, each.partition_size, each.offset_lag) for each in topic.partitions] == [
        (0, 0, 0),
        (1, 3 * BYTES_PER_RECORD, 3),
    ]
    everything = node.call("describe_log_dirs", version, topics=None).results[0]
    assert [(each.name, len(each.partitions)) for each in everything.topics] == [("t", 2)]
    assert node.call("describe_log_dirs", version, topics=[]).results[0].topics == ()


def test_log_dirs_know_the_volume(tmp_path: Any) -> None:
    with AdminBroker(node={"data_dir": str(tmp_path)}) as node:
        (result,) = node.call("describe_log_dirs", 4, topics=[]).results
        assert result.total_bytes >= result.usable_bytes > 0
    with AdminBroker(storage={"engine": "memory"}) as node:
        (result,) = node.call("describe_log_dirs", 4, topics=[]).results
        assert (result.total_bytes, result.usable_bytes) == (-1, -1)


def test_producers(node: AdminBroker) -> None:
    node.create("t", 2)
    log = opened_log(node.partitions.get("t", 0)._log)
    log.known_producers.append(ProducerView(7, 1, 4, 1234, -1, -1))
    wanted = [
        {"name": "t", "partition_indexes": [0, 1, 9]},
        {"name": "none", "partition_indexes": [0]},
        {"name": "a/b", "partition_indexes": [0]},
    ]
    found, unknown, illegal = node.call("describe_producers", 0, topics=wanted).topics
    first, empty, missing = found.partitions
    (producer,) = first.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 1, 4)
    assert (producer.last_timestamp, producer.coordinator_epoch, producer.current_txn_start_offset) == (1234, -1, -1)
    assert (empty.error_code, empty.active_producers) == (0, ())
    assert missing.error_code == unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert illegal.partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


# ------------------------------------------------------------------------------------ one node has nothing to move


@pytest.mark.parametrize("version", range(3))
def test_elections_are_not_needed(node: AdminBroker, version: int) -> None:
    node.create("t", 1)
    wanted = [{"topic": "t", "partitions": [0, 9]}, {"topic": "none", "partitions": [0]}]
    answer = node.call("elect_leaders", version, topic_partitions=wanted, timeout=1000)
    found = [
        (topic.topic, each.partition_id, each.error_code)
        for topic in answer.replica_election_results
        for each in topic.partition_result
    ]
    assert found == [("t", 0, 84), ("t", 9, 3), ("none", 0, 3)]
    everything = node.call("elect_leaders", version, topic_partitions=None, timeout=1000)
    assert [(each.topic, each.partition_result) for each in everything.replica_election_results] == [("t", ())]
    late = node.call("elect_leaders", version, topic_partitions=wanted, timeout=0)
    assert late.replica_election_results[0].partition_result[0].error_code == ErrorCode.REQUEST_TIMED_OUT


@pytest.mark.parametrize("version", [1, 2])
def test_unknown_kinds_of_election(node: AdminBroker, version: int) -> None:
    answer = node.call("elect_leaders", version, election_type=7, topic_partitions=None, timeout=1000)
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", [0, 1])
def test_reassignments(node: AdminBroker, version: int) -> None:
    node.create("t", 3)
    chosen = [(0, [1]), (1, [9]), (2, None), (9, [1]), (0, []), (0, [1, 1])]
    partitions = [{"partition_index": index, "replicas": replicas} for index, replicas in chosen]
    wanted = [{"name": "t", "partitions": partitions}, {"name": "none", "partitions": partitions[:1]}]
    answer = node.call("alter_partition_reassignments", version, topics=wanted, timeout=1000)
    codes = [[each.error_code for each in topic.partitions] for topic in answer.responses]
    assert (answer.error_code, codes) == (0, [[0, 39, 85, 3, 39, 39], [3]])
    late = node.call("alter_partition_reassignments", version, topics=wanted, timeout=0)
    assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
    under_way = node.call("list_partition_reassignments", 0, topics=None, timeout=1000)
    assert (under_way.error_code, under_way.topics) == (0, ())


@pytest.mark.parametrize("version", range(3))
def test_features(node: AdminBroker, version: int) -> None:
    def update(*updates: tuple[str, int, int]) -> Any:
        wanted = [{"feature": name, "max_version_level": level, "upgrade_type": kind} for name, level, kind in updates]
        return node.call("update_features", version, feature_updates=wanted, timeout=1000)

    assert update().error_code == 0
    taken = update(("metadata.version", 30, 1))
    assert (taken.error_code, taken.error_message) == (0, None)
    if version <= 1:
        assert [(each.feature, each.error_code) for each in taken.results] == [("metadata.version", 0)]
    for bad in (("nope", 1, 1), ("metadata.version", 29, 2), ("metadata.version", 31, 1), ("metadata.version", -1, 1)):
        refused = update(("metadata.version", 30, 1), bad)
        assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert refused.error_message.startswith("The update failed for all features")
