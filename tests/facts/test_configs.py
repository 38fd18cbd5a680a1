"""Configs of topics and brokers: described, validated, altered whole and in steps."""

from collections.abc import Mapping
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-13", "F-01")

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
FROM_TOPIC, FROM_DEFAULT = 1, 5

# Every topic config with its default and another value that is valid.
TOPIC_CONFIGS = {
    "cleanup.policy": ("delete", "compact,delete"),
    "compression.gzip.level": ("-1", "5"),
    "compression.lz4.level": ("9", "5"),
    "compression.type": ("producer", "zstd"),
    "compression.zstd.level": ("3", "5"),
    "delete.retention.ms": ("86400000", "1000"),
    "file.delete.delay.ms": ("60000", "1000"),
    "flush.messages": ("9223372036854775807", "10"),
    "flush.ms": ("9223372036854775807", "1000"),
    "follower.replication.throttled.replicas": ("", "*"),
    "index.interval.bytes": ("4096", "8192"),
    "leader.replication.throttled.replicas": ("", "0:1"),
    "local.retention.bytes": ("-2", "-2"),
    "local.retention.ms": ("-2", "-2"),
    "max.compaction.lag.ms": ("9223372036854775807", "1000"),
    "max.message.bytes": ("1048588", "2000000"),
    "message.timestamp.after.max.ms": ("3600000", "1000"),
    "message.timestamp.before.max.ms": ("9223372036854775807", "1000"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio": ("0.5", "0.25"),
    "min.compaction.lag.ms": ("0", "1000"),
    "min.insync.replicas": ("1", "2"),
    "preallocate": ("false", "true"),
    "remote.log.copy.disable": ("false", "false"),
    "remote.log.delete.on.disable": ("false", "false"),
    "remote.storage.enable": ("false", "false"),
    "retention.bytes": ("-1", "1000000"),
    "retention.ms": ("604800000", "1000"),
    "segment.bytes": ("1073741824", "1048576"),
    "segment.index.bytes": ("10485760", "1024"),
    "segment.jitter.ms": ("0", "10"),
    "segment.ms": ("604800000", "100000"),
    "unclean.leader.election.enable": ("false", "true"),
}

INVALID = [
    ("no.such.config", "1"),
    ("retention.ms", "soon"),
    ("retention.ms", "-2"),
    ("retention.bytes", "1.5"),
    ("segment.bytes", "1048575"),
    ("segment.bytes", "0"),
    ("segment.ms", "0"),
    ("cleanup.policy", "shred"),
    ("compression.type", "brotli"),
    ("compression.gzip.level", "10"),
    ("compression.zstd.level", "23"),
    ("compression.lz4.level", "18"),
    ("max.message.bytes", "-1"),
    ("min.cleanable.dirty.ratio", "1.1"),
    ("min.insync.replicas", "0"),
    ("message.timestamp.type", "SometimeTime"),
    ("preallocate", "maybe"),
    ("index.interval.bytes", "-1"),
    ("message.timestamp.after.max.ms", "-1"),
    ("max.compaction.lag.ms", "0"),
    ("leader.replication.throttled.replicas", "everything"),
]


def describe(
    client: RawClient, name: str, keys: list[str] | None = None, *, kind: int = TOPIC, version: int = 4, **options: Any
) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    (result,) = client.call("describe_configs", version, resources=[resource], **options).results
    return result


def value_of(client: RawClient, topic: str, key: str) -> tuple[str, int]:
    (config,) = describe(client, topic, [key]).configs
    return config.value, config.config_source


def wait_for_value(client: RawClient, topic: str, key: str, value: str) -> None:
    wait_until(lambda: value_of(client, topic, key)[0] == value, what=f"{key} is {value}")


def alter_steps(
    client: RawClient,
    name: str,
    *steps: tuple[str, int, str | None],
    kind: int = TOPIC,
    version: int = 1,
    validate_only: bool = False,
) -> ErrorCode:
    configs = [{"name": key, "config_operation": step, "value": value} for key, step, value in steps]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    answer = client.call("incremental_alter_configs", version, resources=[resource], validate_only=validate_only)
    return ErrorCode(answer.responses[0].error_code)


def alter_whole(
    client: RawClient, name: str, configs: Mapping[str, str | None], *, version: int = 2, validate_only: bool = False
) -> ErrorCode:
    listed = [{"name": key, "value": value} for key, value in configs.items()]
    resource = {"resource_type": TOPIC, "resource_name": name, "configs": listed}
    answer = client.call("alter_configs", version, resources=[resource], validate_only=validate_only)
    return ErrorCode(answer.responses[0].error_code)


# ------------------------------------------------------------------------------------------- what can be described


OUR_CONFIGS = {"message.ttl.ms"}
"""Of Penstock, and not of Kafka."""


def test_all_topic_configs_are_described_with_their_defaults(client: RawClient, topic: str) -> None:
    """All 33 topic configs of Kafka 4.3 are there, with Kafka's defaults."""
    found = {config.name: config for config in describe(client, topic).configs if config.name not in OUR_CONFIGS}
    assert {name: config.value for name, config in found.items()} == {
        name: default for name, (default, _) in TOPIC_CONFIGS.items()
    }
    assert not any(config.read_only or config.is_sensitive for config in found.values())


@pytest.mark.parametrize("name", sorted(TOPIC_CONFIGS))
def test_every_topic_config_is_accepted(client: RawClient, name: str) -> None:
    """Every topic config can be set at creation, is described with the value, and its source is the topic."""
    _, value = TOPIC_CONFIGS[name]
    topic = unique_name()
    created = client.create_topics_answer(topic, configs={name: value})
    assert created.error_code == ErrorCode.none, created.error_message
    client.wait_for_topic(topic, 1)
    assert value_of(client, topic, name) == (value, FROM_TOPIC)


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_invalid_configs_are_refused_at_creation(client: RawClient, name: str, value: str) -> None:
    """An unknown config or a bad value is INVALID_CONFIG, with the config named, and no topic is made."""
    topic = unique_name()
    answer = client.create_topics_answer(topic, configs={name: value})
    assert answer.error_code == ErrorCode.invalid_config
    assert name in answer.error_message
    assert client.metadata(topic).topics[0].error_code == ErrorCode.unknown_topic_or_partition


def test_a_null_value_at_creation(client: RawClient) -> None:
    """A config without a value is INVALID_CONFIG when a topic is made."""
    answer = client.create_topics_answer(unique_name(), configs={"retention.ms": None})
    assert answer.error_code == ErrorCode.invalid_config


@pytest.mark.parametrize("version", range(1, 5))
def test_describe_at_every_version(client: RawClient, version: int) -> None:
    """DescribeConfigs tells the value and where it comes from at every version; from v3 also the type."""
    topic = client.create_topic(configs={"retention.ms": "5000"})
    (config,) = describe(client, topic, ["retention.ms"], version=version).configs
    assert (config.value, config.config_source) == ("5000", FROM_TOPIC)
    assert config.synonyms == ()
    if version >= 3:
        assert config.config_type == 5  # a long
        assert config.documentation is None


def test_describe_with_synonyms_and_documentation(client: RawClient) -> None:
    """Synonyms name every level that has a value, the topic's own first; documentation comes when asked for."""
    topic = client.create_topic(configs={"segment.bytes": "2000000"})
    result = describe(client, topic, ["segment.bytes"], include_synonyms=True, include_documentation=True)
    (config,) = result.configs
    assert config.documentation
    levels = [(level.name, level.value, level.source) for level in config.synonyms]
    assert levels == [
        ("segment.bytes", "2000000", FROM_TOPIC),
        ("log.segment.bytes", "1073741824", FROM_DEFAULT),
    ]


def test_describe_only_some_keys(client: RawClient, topic: str) -> None:
    """Only the keys asked for are described, unknown ones are left out, and no keys (null or []) means all."""
    assert [each.name for each in describe(client, topic, ["retention.ms", "no.such"]).configs] == ["retention.ms"]
    everything = [each.name for each in describe(client, topic, None).configs]
    assert [each.name for each in describe(client, topic, []).configs] == everything
    assert len(set(everything) - OUR_CONFIGS) == 33


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("never-created", ErrorCode.unknown_topic_or_partition),
        ("a/b", ErrorCode.invalid_topic_exception),
        ("", ErrorCode.invalid_topic_exception),
    ],
)
def test_describe_topics_that_are_none(client: RawClient, name: str, code: ErrorCode) -> None:
    """Unknown topics are UNKNOWN_TOPIC_OR_PARTITION, impossible names INVALID_TOPIC_EXCEPTION."""
    result = describe(client, name)
    assert (result.error_code, result.configs) == (code, ())


def test_describe_a_broker_by_its_id(client: RawClient) -> None:
    """The configs of a broker are described by its id, with Kafka's names."""
    (node,) = client.metadata().brokers
    result = describe(client, str(node.node_id), kind=BROKER)
    assert result.error_code == ErrorCode.none
    names = {config.name for config in result.configs}
    assert {"log.retention.ms", "log.segment.bytes", "num.partitions", "auto.create.topics.enable"} <= names


def test_describe_the_default_of_all_brokers(client: RawClient) -> None:
    """The empty name stands for the default of all brokers and is no error."""
    assert describe(client, "", kind=BROKER).error_code == ErrorCode.none


@pytest.mark.parametrize(("kind", "name"), [(BROKER, "77"), (BROKER, "one"), (99, "x")])
def test_describe_what_is_no_resource(client: RawClient, kind: int, name: str) -> None:
    """Another broker's id, an id that is no number, and an unknown resource type are INVALID_REQUEST."""
    assert describe(client, name, kind=kind).error_code == ErrorCode.invalid_request


# ----------------------------------------------------------------------------------------------- changes in steps


@pytest.mark.parametrize("version", [0, 1])
def test_set_and_delete(client: RawClient, topic: str, version: int) -> None:
    """SET gives a topic its own value and DELETE goes back to the default."""
    assert alter_steps(client, topic, ("retention.bytes", SET, "77"), version=version) == ErrorCode.none
    wait_for_value(client, topic, "retention.bytes", "77")
    assert value_of(client, topic, "retention.bytes") == ("77", FROM_TOPIC)
    assert alter_steps(client, topic, ("retention.bytes", DELETE, None), version=version) == ErrorCode.none
    wait_for_value(client, topic, "retention.bytes", "-1")
    assert value_of(client, topic, "retention.bytes") == ("-1", FROM_DEFAULT)


def test_append_and_subtract_on_lists(client: RawClient, topic: str) -> None:
    """APPEND adds to a list, starting from the default, and SUBTRACT takes away; doing so again changes nothing."""
    for step, value, expected in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SUBTRACT, "delete", "compact"),
    ):
        assert alter_steps(client, topic, ("cleanup.policy", step, value)) == ErrorCode.none
        wait_for_value(client, topic, "cleanup.policy", expected)


@pytest.mark.parametrize("step", [APPEND, SUBTRACT])
def test_append_and_subtract_need_a_list(client: RawClient, topic: str, step: int) -> None:
    """APPEND and SUBTRACT on a config that is no list are INVALID_CONFIG."""
    assert alter_steps(client, topic, ("retention.ms", step, "1")) == ErrorCode.invalid_config


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_invalid_changes_are_refused(client: RawClient, topic: str, name: str, value: str) -> None:
    """An unknown config or a bad value is INVALID_CONFIG, in steps and as a whole."""
    assert alter_steps(client, topic, (name, SET, value)) == ErrorCode.invalid_config
    assert alter_whole(client, topic, {name: value}) == ErrorCode.invalid_config


def test_a_change_without_a_value(client: RawClient, topic: str) -> None:
    """SET without a value is INVALID_REQUEST, in steps and as a whole."""
    assert alter_steps(client, topic, ("retention.ms", SET, None)) == ErrorCode.invalid_request
    assert alter_whole(client, topic, {"retention.ms": None}) == ErrorCode.invalid_request


def test_the_same_config_twice(client: RawClient, topic: str) -> None:
    """Two steps for the same config are INVALID_REQUEST."""
    steps = (("retention.ms", SET, "1000"), ("retention.ms", SET, "2000"))
    assert alter_steps(client, topic, *steps) == ErrorCode.invalid_request


def test_one_bad_step_refuses_all(client: RawClient, topic: str) -> None:
    """The steps for one topic are taken together or not at all."""
    steps = (("retention.bytes", SET, "123"), ("retention.ms", SET, "soon"))
    assert alter_steps(client, topic, *steps) == ErrorCode.invalid_config
    assert value_of(client, topic, "retention.bytes") == ("-1", FROM_DEFAULT)


def test_a_change_of_an_unknown_topic(client: RawClient) -> None:
    """A topic that does not exist is UNKNOWN_TOPIC_OR_PARTITION, in steps and as a whole."""
    unknown = ErrorCode.unknown_topic_or_partition
    assert alter_steps(client, "never-created", ("retention.ms", SET, "1000")) == unknown
    assert alter_whole(client, "never-created", {"retention.ms": "1000"}) == unknown


def test_validate_only_changes_nothing(client: RawClient, topic: str) -> None:
    """`validate_only` answers like the real thing and changes nothing."""
    step = ("retention.ms", SET, "1000")
    assert alter_steps(client, topic, step, validate_only=True) == ErrorCode.none
    assert alter_whole(client, topic, {"retention.ms": "1000"}, validate_only=True) == ErrorCode.none
    assert value_of(client, topic, "retention.ms") == ("604800000", FROM_DEFAULT)


@pytest.mark.parametrize("version", range(3))
def test_a_whole_change_replaces_everything(client: RawClient, version: int) -> None:
    """AlterConfigs sets what it names and gives up what it does not name."""
    topic = client.create_topic(configs={"retention.ms": "5000"})
    assert alter_whole(client, topic, {"retention.bytes": "9999"}, version=version) == ErrorCode.none
    wait_for_value(client, topic, "retention.bytes", "9999")
    wait_for_value(client, topic, "retention.ms", "604800000")


def test_a_change_takes_effect(client: RawClient, topic: str) -> None:
    """A changed config is obeyed from then on, without a restart."""
    assert client.produce(topic, batches.values(b"x" * 5000)).error_code == ErrorCode.none
    alter_steps(client, topic, ("max.message.bytes", SET, "1000"))

    def refused() -> bool:
        answer = client.produce(topic, batches.values(b"x" * 5000))
        return bool(answer.error_code == ErrorCode.message_too_large)

    wait_until(refused, what="the new limit is obeyed")


# ------------------------------------------------------------------------------------------------------ resources


def test_list_config_resources(client: RawClient, topic: str) -> None:
    """ListConfigResources v1 lists topics and brokers, all or only the types asked for."""
    (node,) = client.metadata().brokers
    answer = client.call("list_config_resources", 1, resource_types=[TOPIC, BROKER])
    assert answer.error_code == ErrorCode.none
    listed = {(each.resource_type, each.resource_name) for each in answer.config_resources}
    assert {(TOPIC, topic), (BROKER, str(node.node_id))} <= listed
    only_brokers = client.call("list_config_resources", 1, resource_types=[BROKER]).config_resources
    assert {each.resource_type for each in only_brokers} == {BROKER}
    everything = client.call("list_config_resources", 1, resource_types=[]).config_resources
    assert (TOPIC, topic) in {(each.resource_type, each.resource_name) for each in everything}


def test_list_config_resources_of_an_unknown_type(client: RawClient) -> None:
    """A resource type that does not exist is UNSUPPORTED_VERSION."""
    answer = client.call("list_config_resources", 1, resource_types=[99])
    assert answer.error_code == ErrorCode.unsupported_version


def test_list_config_resources_before_types_existed(client: RawClient) -> None:
    """Version 0 lists client metrics only, and there are none."""
    answer = client.call("list_config_resources", 0)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.none, ())


# ------------------------------------------------------------------------------------------- the broker's own topics


@pytest.mark.usefixtures("penstock_only")
@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_internal_topics_take_no_config_that_loses_or_refuses_their_records(client: RawClient, name: str) -> None:
    """Kafka takes all of them, and drops committed offsets and decisions after `retention.ms`; Penstock does not."""
    client.metadata(name, create=True)
    client.wait_for_topic(name, 1)
    before = describe(client, name)
    harmful: list[tuple[str, int, str | None]] = [
        ("cleanup.policy", SET, "delete"),
        ("cleanup.policy", APPEND, "delete"),
        ("cleanup.policy", DELETE, None),
        ("max.message.bytes", SET, "100"),
        ("message.timestamp.before.max.ms", SET, "0"),
        ("message.timestamp.after.max.ms", SET, "0"),
    ]
    for validate_only in (True, False):
        for step in harmful:
            refused = alter_steps(client, name, step, ("retention.ms", SET, "1"), validate_only=validate_only)
            assert refused == ErrorCode.invalid_config, step
    assert alter_whole(client, name, {"retention.ms": "1"}) == ErrorCode.invalid_config
    assert describe(client, name) == before
    assert alter_steps(client, name, ("max.message.bytes", SET, "2000000")) == ErrorCode.none
    assert alter_steps(client, name, ("max.message.bytes", DELETE, None)) == ErrorCode.none
