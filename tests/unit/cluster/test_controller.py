"""The controller over a real metadata store: what is durable, what is visible, and in which order."""

import asyncio
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from penstock.cluster.controller.configs_frontend import BROKER, GROUP, ConfigUpdate
from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.topics import Topic
from penstock.config.config_layers import ConfigLayers
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.metadata.store import MetadataStore
from tests.support.admin_broker import AdminBroker

pytestmark = pytest.mark.feature("K-13")


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker() as node:
        yield node


def create(node: AdminBroker, name: str, partitions: int = 1, **configs: str) -> Topic:
    wanted = [(key.replace("_", "."), value) for key, value in configs.items()]
    new = NewTopic(name=name, partition_count=partitions, configs=wanted)
    (result,) = node.run(node.controller.topics.create([new]))
    assert isinstance(result, Topic), result
    return result


def stop_writes(store: MetadataStore) -> None:
    """From now on the disk takes nothing more."""
    store.database.connection.execute("PRAGMA query_only = 1")


def setting(**values: str) -> ConfigUpdate:
    """An update that sets configs, with _ for the dots of their names."""

    def update(current: Mapping[str, str]) -> dict[str, str]:
        return {**current, **{name.replace("_", "."): value for name, value in values.items()}}

    return update


def test_a_topic_is_stored_declared_and_shown(node: AdminBroker) -> None:
    topic = create(node, "orders", 2, retention_ms="5")
    (row,) = node.store.topics.all()
    assert (row.name, row.topic_id, row.partitions, row.internal) == ("orders", topic.topic_id, 2, False)
    assert node.store.configs.get("topic", "orders") == {"retention.ms": "5"}
    assert node.topics.get("orders") is topic
    assert {partition.partition for partition in node.engine.declared} == {0, 1}
    _, config, leader_epoch = node.engine.declared[PartitionId(topic.topic_id, 0)]
    assert (config.retention_ms, leader_epoch) == (5, 0)


def test_topics_outlive_a_restart_with_a_higher_epoch(tmp_path: Path) -> None:
    with AdminBroker(MetadataStore(tmp_path / "meta.db")) as node:
        before = create(node, "orders", 3, cleanup_policy="compact")
        node.run(node.controller.configs.alter(BROKER, "1", lambda _: {"log.retention.ms": "77"}))
        node.store.close()
    with AdminBroker(MetadataStore(tmp_path / "meta.db")) as node:
        after = node.topics.get("orders")
        assert after is not None
        assert (after.topic_id, after.partition_count) == (before.topic_id, 3)
        assert after.configs == {"cleanup.policy": "compact"}
        assert node.partitions.get("orders", 2).leader_epoch == 1
        config = node.partitions.get("orders", 2).config
        assert (config.cleanup_compact, config.cleanup_delete, config.retention_ms) == (True, False, 77)


def test_of_many_who_create_one_topic_one_wins(node: AdminBroker) -> None:
    async def together() -> list[Topic | KafkaError]:
        asks = [node.controller.topics.create([NewTopic(name="hot")]) for _ in range(20)]
        return [result for (result,) in await asyncio.gather(*asks)]

    results = node.run(together())
    winners = [result for result in results if isinstance(result, Topic)]
    losers = {result.code for result in results if isinstance(result, KafkaError)}
    assert len(winners) == 1
    assert losers == {ErrorCode.TOPIC_ALREADY_EXISTS}
    assert node.topics.get("hot") is winners[0]


def test_a_client_that_goes_away_does_not_stop_what_has_begun(node: AdminBroker) -> None:
    async def give_up() -> None:
        asking = asyncio.ensure_future(node.controller.topics.create([NewTopic(name="t")]))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await node.controller.topics.ensure_internal("__consumer_offsets")  # its turn comes afterwards

    node.run(give_up())
    assert node.topics.get("t") is not None
    assert {row.name for row in node.store.topics.all()} == {"t", "__consumer_offsets"}


def test_nothing_shows_that_could_not_be_stored(node: AdminBroker) -> None:
    kept = create(node, "kept", 1)
    stop_writes(node.store)
    (result,) = node.run(node.controller.topics.create([NewTopic(name="t")]))
    assert isinstance(result, KafkaError)
    assert result.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert node.topics.get("t") is None
    (result,) = node.run(node.controller.topics.delete([kept.topic_id]))
    assert isinstance(result, KafkaError)
    with pytest.raises(KafkaError):
        node.run(node.controller.topics.create_partitions("kept", 2))
    with pytest.raises(KafkaError):
        node.run(node.controller.configs.alter_topic("kept", setting(retention_ms="5")))
    assert node.topics.get("kept") is kept
    assert not node.engine.removed


def test_validate_only_changes_nothing(node: AdminBroker) -> None:
    (result,) = node.run(node.controller.topics.create([NewTopic(name="t", partition_count=3)], validate_only=True))
    assert isinstance(result, Topic)
    assert result.partition_count == 3
    create(node, "u")
    node.run(node.controller.topics.create_partitions("u", 9, validate_only=True))
    assert [(row.name, row.partitions) for row in node.store.topics.all()] == [("u", 1)]
    assert [topic.name for topic in node.topics.all()] == ["u"]


def test_deletion(node: AdminBroker) -> None:
    topic = create(node, "t", 2)
    (deleted, unknown) = node.run(node.controller.topics.delete([topic.topic_id, uuid.uuid4()]))
    assert deleted is topic
    assert isinstance(unknown, KafkaError)
    assert unknown.code is ErrorCode.UNKNOWN_TOPIC_ID
    assert node.store.topics.all() == []
    assert node.topics.get("t") is None
    assert {partition.partition for partition in node.engine.removed} == {0, 1}
    assert create(node, "t").topic_id != topic.topic_id


def test_growing(node: AdminBroker) -> None:
    topic = create(node, "t", 1)
    first = node.partitions.get("t", 0)
    node.run(node.controller.topics.create_partitions("t", 3))
    assert node.partitions.get("t", 0) is first
    assert node.partitions.get_by_id(topic.topic_id, 2).index == 2
    assert node.store.topics.all()[0].partitions == 3


def test_configs_reach_open_logs(node: AdminBroker) -> None:
    create(node, "t")
    log = node.partitions.get("t", 0)._log
    node.run(node.controller.configs.alter_topic("t", setting(max_message_bytes="99")))
    assert log.config.max_message_bytes == 99
    assert node.store.configs.get("topic", "t") == {"max.message.bytes": "99"}
    node.run(node.controller.configs.alter_topic("t", lambda _: {}))
    assert log.config.max_message_bytes == 1_048_588
    assert node.store.configs.get("topic", "t") == {}


def test_broker_defaults_reach_topics_that_set_nothing(node: AdminBroker) -> None:
    create(node, "plain")
    create(node, "own", retention_bytes="5")
    node.run(node.controller.configs.alter(BROKER, "", lambda _: {"log.retention.bytes": "100"}))
    assert node.partitions.get("plain", 0)._log.config.retention_bytes == 100
    assert node.partitions.get("own", 0)._log.config.retention_bytes == 5
    node.run(node.controller.configs.alter(BROKER, "1", lambda _: {"log.retention.bytes": "200"}))
    assert node.partitions.get("plain", 0)._log.config.retention_bytes == 200
    create(node, "later")
    assert node.partitions.get("later", 0)._log.config.retention_bytes == 200
    node.run(node.controller.configs.alter(BROKER, "1", lambda _: {}))
    assert node.partitions.get("later", 0)._log.config.retention_bytes == 100


def test_other_scopes_are_kept_too(node: AdminBroker) -> None:
    node.run(node.controller.configs.alter(GROUP, "g", lambda _: {"consumer.session.timeout.ms": "50000"}))
    assert node.controller.configs.configured(GROUP) == ["g"]
    assert node.store.configs.get("group", "g") == {"consumer.session.timeout.ms": "50000"}
    node.run(node.controller.configs.alter(GROUP, "g", lambda _: {}))
    assert node.controller.configs.configured(GROUP) == []


def test_internal_topics_are_made_once_in_their_own_shape() -> None:
    with AdminBroker(groups={"offsets_topic_partitions": 3}) as node:

        async def together() -> list[Topic]:
            name = "__consumer_offsets"
            return list(await asyncio.gather(*(node.controller.topics.ensure_internal(name) for _ in range(5))))

        topics = node.run(together())
        assert len(set(map(id, topics))) == 1
        (topic,) = set(topics)
        assert (topic.internal, topic.partition_count) == (True, 3)
        assert topic.configs["cleanup.policy"] == "compact"
        assert node.partitions.get("__consumer_offsets", 0).config.cleanup_compact


def test_auto_creation_uses_the_defaults() -> None:
    with AdminBroker(topics={"default_partitions": 4, "defaults": {"retention.ms": "9"}}) as node:
        topic = node.run(node.controller.topics.auto_create("t"))
        assert topic.partition_count == 4
        assert node.run(node.controller.topics.auto_create("t")) is topic
        assert node.partitions.get("t", 0)._log.config.retention_ms == 9
        with pytest.raises(KafkaError) as error:
            node.run(node.controller.topics.auto_create("a/b"))
        assert error.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_limits_of_the_node() -> None:
    limits = {"topics_max": 2, "partitions_max": 10, "partitions_per_topic_max": 6}
    with AdminBroker(limits=limits) as node:
        too_wide = NewTopic(name="wide", partition_count=7)
        wanted = [NewTopic(name="a", partition_count=6), NewTopic(name="b", partition_count=5), too_wide]
        made, too_many, wide = node.run(node.controller.topics.create(wanted))
        assert isinstance(made, Topic)
        for refused in (too_many, wide):
            assert isinstance(refused, KafkaError)
            assert refused.code is ErrorCode.POLICY_VIOLATION
        create(node, "b", 1)
        (third,) = node.run(node.controller.topics.create([NewTopic(name="c")]))
        assert isinstance(third, KafkaError)
        assert third.code is ErrorCode.POLICY_VIOLATION
        with pytest.raises(KafkaError) as error:
            node.run(node.controller.topics.create_partitions("b", 7))
        assert error.value.code is ErrorCode.POLICY_VIOLATION


def test_bad_node_defaults_are_found_at_the_start() -> None:
    for configs in ({"retention.ms": "soon"}, {"retenton.ms": "5"}, {"remote.storage.enable": "false"}):
        with pytest.raises(ValidationError, match=next(iter(configs))):
            AdminBroker(topics={"defaults": configs})
        with pytest.raises(KafkaError) as error:
            ConfigLayers(configs)
        assert error.value.code is ErrorCode.INVALID_CONFIG
