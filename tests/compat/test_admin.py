"""Admin calls of the libraries: topics, configs, partitions, records, groups and offsets."""

import asyncio
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.compat.clients import kafkajs
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.message import DEADLINE_S, Message
from tests.support.broker_process import BrokerProcess
from tests.support.group_client import commit, committed
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-13", "K-08", "F-02")


def fill(broker: BrokerProcess, topic: str, count: int = 10) -> None:
    messages = [Message(value=b"%d" % number) for number in range(count)]
    ConfluentClient().produce(broker.bootstrap, topic, messages)


# -------------------------------------------------------------------------------------------- confluent-kafka


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def outcome(futures: dict[Any, Any]) -> Any:
    (future,) = futures.values()
    return future.result(DEADLINE_S)


def test_confluent_topics(admin: AdminClient, client: RawClient) -> None:
    """Topics are created, described, grown and deleted; errors are Kafka's."""
    name = unique_name()
    outcome(admin.create_topics([NewTopic(name, 2, 1, config={"retention.ms": "5000"})]))
    client.wait_for_topic(name, 2)
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        outcome(admin.create_topics([NewTopic(name, 2, 1)]))
    with pytest.raises(KafkaException, match="INVALID_CONFIG"):
        outcome(admin.create_topics([NewTopic(unique_name(), 1, 1, config={"no.such": "1"})]))
    outcome(admin.create_partitions([NewPartitions(name, 5)]))
    client.wait_for_topic(name, 5)
    listed = admin.list_topics(name, timeout=DEADLINE_S).topics[name]
    assert sorted(listed.partitions) == list(range(5))
    outcome(admin.delete_topics([name]))
    wait_until(lambda: name not in admin.list_topics(timeout=DEADLINE_S).topics, what="the topic is gone")


def test_confluent_configs(admin: AdminClient, topic: str) -> None:
    """Configs are described with their source and changed in steps."""
    resource = ConfigResource(ResourceType.TOPIC, topic)

    def described() -> dict[str, ConfigEntry]:
        found: dict[str, ConfigEntry] = outcome(admin.describe_configs([resource]))
        return found

    assert described()["retention.ms"].value == "604800000"
    change = ConfigEntry("retention.ms", "1234567", incremental_operation=AlterConfigOpType.SET)
    outcome(admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])]))
    wait_until(lambda: described()["retention.ms"].value == "1234567", what="the change is visible")
    source: Any = described()["retention.ms"].source
    assert source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value


def test_confluent_cluster(admin: AdminClient, broker: BrokerProcess) -> None:
    """The cluster is described with its nodes and its controller."""
    described = admin.describe_cluster(request_timeout=DEADLINE_S).result()
    assert [(node.host, node.port) for node in described.nodes] == [(broker.host, broker.port)]
    assert described.controller.id == described.nodes[0].id
    assert described.cluster_id


def test_confluent_records_and_offsets(admin: AdminClient, broker: BrokerProcess, topic: str) -> None:
    """Records are deleted up to an offset, and list_offsets tells earliest, latest and by time."""
    fill(broker, topic)
    partition = TopicPartition(topic, 0)
    assert outcome(admin.delete_records([TopicPartition(topic, 0, 4)])).low_watermark == 4
    for spec, offset in (
        (OffsetSpec.earliest(), 4),
        (OffsetSpec.latest(), 10),
        (OffsetSpec.for_timestamp(0), 4),
        (OffsetSpec.max_timestamp(), None),
    ):
        found = outcome(admin.list_offsets({partition: spec})).offset
        assert offset is None or found == offset


def test_confluent_groups(admin: AdminClient, broker: BrokerProcess, client: RawClient, topic: str) -> None:
    """Groups are listed and described, their offsets read and changed, and they are deleted when empty."""
    fill(broker, topic)
    group = unique_name("group")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    assert consumer.poll(DEADLINE_S) is not None
    described = outcome(admin.describe_consumer_groups([group]))
    assert (described.state.name, described.partition_assignor) == ("STABLE", "range")
    assert [each.assignment.topic_partitions[0].topic for each in described.members] == [topic]
    listed = admin.list_consumer_groups().result(DEADLINE_S)
    assert group in {each.group_id for each in listed.valid}
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        outcome(admin.delete_consumer_groups([group]))
    consumer.close()

    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 3)])
    outcome(admin.alter_consumer_group_offsets([wanted]))
    found = outcome(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
    assert [(each.topic, each.offset) for each in found.topic_partitions] == [(topic, 3)]
    outcome(admin.delete_consumer_groups([group]))
    assert committed(client, group, topic).committed_offset == -1


# ------------------------------------------------------------------------------------------------ kafka-python


def test_kafka_python_admin(broker: BrokerProcess, client: RawClient) -> None:
    """kafka-python's admin makes, describes, grows and deletes topics, and changes configs."""
    from kafka import KafkaAdminClient
    from kafka.admin import ConfigResource as Resource
    from kafka.admin import ConfigResourceType
    from kafka.admin import NewPartitions as MorePartitions
    from kafka.admin import NewTopic as Wanted

    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    name = unique_name()
    admin.create_topics([Wanted(name, 2, 1, topic_configs={"retention.ms": "5000"})])
    client.wait_for_topic(name, 2)
    assert name in admin.list_topics()
    admin.create_partitions({name: MorePartitions(4)})
    client.wait_for_topic(name, 4)
    resource = Resource(ConfigResourceType.TOPIC, name)
    assert "5000" in str(admin.describe_configs([resource]))
    admin.alter_configs([Resource(ConfigResourceType.TOPIC, name, configs={"retention.ms": "7777"})])
    wait_until(lambda: "7777" in str(admin.describe_configs([resource])), what="the change is visible")
    assert "127.0.0.1" in str(admin.describe_cluster())
    admin.delete_topics([name])
    wait_until(lambda: name not in admin.list_topics(), what="the topic is gone")
    admin.close()


def test_kafka_python_groups(broker: BrokerProcess, client: RawClient, topic: str) -> None:
    """kafka-python's admin lists and describes groups, reads their offsets and deletes them."""
    from kafka import KafkaAdminClient, TopicPartition

    fill(broker, topic)
    group = unique_name("group")
    commit(client, group, topic, 6, metadata="note")
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    assert group in str(admin.list_groups())
    assert "Empty" in str(admin.describe_groups([group]))
    assert "6" in str(admin.list_group_offsets(group))
    admin.delete_records({TopicPartition(topic, 0): 3})
    assert client.log_start(topic) == 3
    admin.delete_groups([group])
    assert committed(client, group, topic).committed_offset == -1
    admin.close()


# ---------------------------------------------------------------------------------------------------- aiokafka


def test_aiokafka_admin(broker: BrokerProcess, client: RawClient) -> None:
    """aiokafka's admin does the same over the old versions of the APIs."""
    from aiokafka import TopicPartition as Partition
    from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
    from aiokafka.admin import NewPartitions as MorePartitions
    from aiokafka.admin import NewTopic as Wanted
    from aiokafka.admin.config_resource import ConfigResource as Resource
    from aiokafka.admin.config_resource import ConfigResourceType

    name, group = unique_name(), unique_name("group")

    async def work() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([Wanted(name, 2, 1, topic_configs={"retention.ms": "5000"})])
            client.wait_for_topic(name, 2)
            assert name in await admin.list_topics()
            await admin.create_partitions({name: MorePartitions(3)})
            client.wait_for_topic(name, 3)
            described = await admin.describe_configs([Resource(ConfigResourceType.TOPIC, name)])
            assert "5000" in str(described)
            await admin.alter_configs([Resource(ConfigResourceType.TOPIC, name, configs={"retention.ms": "-1"})])
            fill(broker, name)
            await admin.delete_records({Partition(name, 0): RecordsToDelete(before_offset=4)})
            assert client.log_start(name) == 4
            commit(client, group, name, 5)
            assert (await admin.list_consumer_group_offsets(group))[Partition(name, 0)].offset == 5
            assert group in {each[0] for each in await admin.list_consumer_groups()}
            assert "Empty" in str(await admin.describe_consumer_groups([group]))
            assert (await admin.describe_cluster())["brokers"]
            await admin.delete_topics([name])
        finally:
            await admin.close()

    asyncio.run(work())
    wait_until(lambda: not client.metadata(name).topics[0].partitions, what="the topic is gone")


# ----------------------------------------------------------------------------------------------------- kafkajs


def test_kafkajs_admin(broker: BrokerProcess, client: RawClient) -> None:
    """kafkajs's admin does the same; its errors are Kafka's."""
    name, group = unique_name(), unique_name("group")
    wanted = {"topic": name, "numPartitions": 2, "configEntries": [{"name": "retention.ms", "value": "5000"}]}
    (created,) = _kafkajs(broker, ["createTopics", {"topics": [wanted], "waitForLeaders": True}])
    assert created["answer"] is True
    client.wait_for_topic(name, 2)
    fill(broker, name)
    commit(client, group, name, 5)
    resource = {"type": 2, "name": name, "configNames": ["retention.ms"]}
    calls: list[list[Any]] = [
        ["createPartitions", {"topicPartitions": [{"topic": name, "count": 3}]}],
        ["describeConfigs", {"resources": [resource], "includeSynonyms": False}],
        ["alterConfigs", {"resources": [{**resource, "configEntries": [{"name": "retention.ms", "value": "-1"}]}]}],
        ["listGroups", None],
        ["describeGroups", [group]],
        ["fetchOffsets", {"groupId": group, "topics": [name]}],
        ["setOffsets", {"groupId": group, "topic": name, "partitions": [{"partition": 0, "offset": "7"}]}],
        ["deleteTopicRecords", {"topic": name, "partitions": [{"partition": 0, "offset": "4"}]}],
        ["describeCluster", None],
        ["deleteGroups", [group]],
        ["listTopics", None],
    ]
    answers = {each["call"]: each for each in _kafkajs(broker, *calls)}
    assert not [each for each in answers.values() if "error" in each], answers
    entries = answers["describeConfigs"]["answer"]["resources"][0]["configEntries"]
    assert [(entry["configName"], entry["configValue"]) for entry in entries] == [("retention.ms", "5000")]
    assert group in {each["groupId"] for each in answers["listGroups"]["answer"]["groups"]}
    assert answers["describeGroups"]["answer"]["groups"][0]["state"] == "Empty"
    assert answers["fetchOffsets"]["answer"][0]["partitions"][0]["offset"] == "5"
    assert answers["describeCluster"]["answer"]["brokers"][0]["port"] == broker.port
    assert name in answers["listTopics"]["answer"]
    assert client.log_start(name) == 4
    deleted, unknown = _kafkajs(
        broker, ["deleteTopics", {"topics": [name]}], ["fetchTopicOffsets", unique_name("never")]
    )
    assert "error" not in deleted
    assert unknown["error"] == "This server does not host this topic-partition"


def _kafkajs(broker: BrokerProcess, *calls: list[Any]) -> list[dict[str, Any]]:
    return kafkajs.run("admin", {"bootstrap": broker.bootstrap, "calls": list(calls), "retries": 3})
