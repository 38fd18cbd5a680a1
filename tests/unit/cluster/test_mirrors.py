"""Mirrors in the controller: made with the original's id, changed by the pipe alone, durable."""

import uuid
from collections.abc import Iterator

import pytest

from penstock.cluster.controller.controller import Controller
from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.mirrors import NewMirror
from penstock.cluster.topics import Topic, TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, PartitionId
from tests.support.admin_broker import AdminBroker
from tests.support.plain_engine import PlainEngine

pytestmark = pytest.mark.feature("P-12")

ORIGINAL = uuid.UUID(int=99)


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker() as node:
        yield node


def new_mirror(partitions: int = 2, **configs: str) -> NewMirror:
    given = {name.replace("_", "."): value for name, value in configs.items()}
    return NewMirror(name="prices", topic_id=ORIGINAL, partition_count=partitions, configs=given)


def refusal(node: AdminBroker, coroutine: object) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        node.run(coroutine)  # type: ignore[arg-type]
    return caught.value.code


def test_it_follows_partitions_and_configs(node: AdminBroker) -> None:
    topic = node.run(node.controller.mirrors.put(new_mirror(retention_ms="1000", from_the_future="x")))
    assert (topic.topic_id, topic.mirror, topic.partition_count) == (ORIGINAL, True, 2)
    assert topic.configs == {"retention.ms": "1000"}
    grown = node.run(node.controller.mirrors.put(new_mirror(3, segment_bytes="1048576")))
    assert (grown.partition_count, grown.configs) == (3, {"segment.bytes": "1048576"})
    assert node.run(node.controller.mirrors.put(new_mirror(3, segment_bytes="1048576"))) is grown
    assert grown.leader_epochs == (NO_EPOCH,) * grown.partition_count


def test_nobody_else_changes_it(node: AdminBroker) -> None:
    topic = node.run(node.controller.mirrors.put(new_mirror()))
    controller = node.controller
    assert refusal(node, controller.topics.create_partitions("prices", 5)) is ErrorCode.POLICY_VIOLATION
    assert refusal(node, controller.configs.alter_topic("prices", dict)) is ErrorCode.POLICY_VIOLATION
    (deleted,) = node.run(controller.topics.delete([topic.topic_id]))
    assert isinstance(deleted, KafkaError)
    assert deleted.code is ErrorCode.POLICY_VIOLATION
    node.run(controller.mirrors.drop(topic))
    assert node.topics.get("prices") is None
    assert node.run(controller.mirrors.put(new_mirror())).topic_id == ORIGINAL


def test_a_topic_of_that_name_is_in_the_way_if_it_has_records(node: AdminBroker) -> None:
    (made,) = node.run(node.controller.topics.create([NewTopic(name="prices")]))
    assert isinstance(made, Topic)
    log = node.engine.log(PartitionId(made.topic_id, 0))
    log.grow(1)
    assert refusal(node, node.controller.mirrors.put(new_mirror())) is ErrorCode.TOPIC_ALREADY_EXISTS
    log.log_end = 0
    assert node.run(node.controller.mirrors.put(new_mirror())).mirror
    assert PartitionId(made.topic_id, 0) in node.engine.removed


def test_an_empty_topic_stays_if_its_deletion_cannot_be_stored(node: AdminBroker) -> None:
    (made,) = node.run(node.controller.topics.create([NewTopic(name="prices")]))
    node.store.database.connection.execute("PRAGMA query_only = 1")
    assert refusal(node, node.controller.mirrors.put(new_mirror())) is ErrorCode.KAFKA_STORAGE_ERROR
    node.store.database.connection.execute("PRAGMA query_only = 0")
    assert node.topics.get("prices") is made


def test_tiers_of_storage_are_left_out(node: AdminBroker) -> None:
    topic = node.run(node.controller.mirrors.put(new_mirror(remote_storage_enable="true", retention_ms="5")))
    assert topic.configs == {"retention.ms": "5"}


def test_what_it_is_survives_a_restart(node: AdminBroker) -> None:
    topic = node.run(node.controller.mirrors.put(new_mirror()))
    node.run(node.controller.mirrors.set_diverged(topic, "another history"))
    topics, engine = TopicTable(), PlainEngine()
    again = Controller(store=node.store, engine=engine, topics=topics, settings=node.settings)
    again.load()
    found = topics.get("prices")
    assert found is not None
    assert (found.mirror, found.diverged, found.topic_id) == (True, "another history", ORIGINAL)
    assert engine.declared[PartitionId(ORIGINAL, 0)][2] == NO_EPOCH
