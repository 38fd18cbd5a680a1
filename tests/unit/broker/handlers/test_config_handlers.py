"""The APIs over configs at every version: describe, change, replace, list, for every kind of resource."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.model.errors import ErrorCode
from tests.support.admin_broker import AdminBroker

pytestmark = pytest.mark.feature("K-13", "F-01")

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker() as node:
        node.create("t")
        yield node


def describe(node: AdminBroker, kind: int, name: str, *keys: str, version: int = 4, **options: Any) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": list(keys) or None}
    (result,) = node.call("describe_configs", version, resources=[resource], **options).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def values(node: AdminBroker, kind: int, name: str, *keys: str) -> dict[str, tuple[str | None, int]]:
    configs = describe(node, kind, name, *keys).configs
    return {config.name: (config.value, config.config_source) for config in configs}


def alter(node: AdminBroker, kind: int, name: str, *changes: tuple[str, int, str | None], **options: Any) -> int:
    configs = [{"name": key, "config_operation": step, "value": value} for key, step, value in changes]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    version = options.pop("version", 1)
    answer = node.call("incremental_alter_configs", version, resources=[resource], **options)
    (result,) = answer.responses
    assert (result.resource_type, result.resource_name) == (kind, name)
    assert (result.error_message is None) == (result.error_code == 0)
    return int(result.error_code)


def replace(node: AdminBroker, kind: int, name: str, *configs: tuple[str, str | None], **options: Any) -> int:
    wanted = [{"name": key, "value": value} for key, value in configs]
    resource = {"resource_type": kind, "resource_name": name, "configs": wanted}
    version = options.pop("version", 2)
    (result,) = node.call("alter_configs", version, resources=[resource], **options).responses
    return int(result.error_code)


# ------------------------------------------------------------------------------------------------- DescribeConfigs


@pytest.mark.parametrize("version", range(1, 5))
def test_describe_at_every_version(node: AdminBroker, version: int) -> None:
    assert alter(node, TOPIC, "t", ("max.message.bytes", SET, "99")) == 0
    result = describe(node, TOPIC, "t", version=version, include_synonyms=True, include_documentation=True)
    assert (result.error_code, result.error_message, len(result.configs)) == (0, "", 34)
    (config,) = [config for config in result.configs if config.name == "max.message.bytes"]
    assert (config.value, config.config_source, config.read_only, config.is_sensitive) == ("99", 1, False, False)
    assert [(each.name, each.value, each.source) for each in config.synonyms] == [
        ("max.message.bytes", "99", 1),
        ("message.max.bytes", "1048588", 5),
    ]
    if version >= 3:
        assert config.config_type == 3
        assert config.documentation
    silent = describe(node, TOPIC, "t", "max.message.bytes", "nope", version=version)
    assert [(each.name, each.synonyms) for each in silent.configs] == [("max.message.bytes", ())]
    refused = describe(node, TOPIC, "none", version=version)
    assert (refused.error_code, refused.configs) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ())


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "a/b", 17),
        (TOPIC, "", 17),
        (BROKER, "2", 42),
        (BROKER, "x", 42),
        (LOGGER, "", 42),
        (LOGGER, "2", 42),
        (LOGGER, "1", 0),
        (CLIENT_METRICS, "", 42),
        (GROUP, "", 42),
        (0, "x", 42),
        (99, "x", 42),
    ],
)
def test_what_can_be_described(node: AdminBroker, kind: int, name: str, code: int) -> None:
    assert describe(node, kind, name).error_code == code


def test_brokers_by_id_and_all_at_once(node: AdminBroker) -> None:
    configs = values(node, BROKER, "1")
    assert configs["broker.id"] == ("1", 4)
    assert configs["log.retention.ms"] == (None, 5)
    always = {"min.insync.replicas": ("1", 3)}
    assert values(node, BROKER, "") == always
    assert alter(node, BROKER, "", ("log.retention.bytes", SET, "999")) == 0
    assert alter(node, BROKER, "1", ("log.retention.ms", SET, "777")) == 0
    assert values(node, BROKER, "") == {"log.retention.bytes": ("999", 3)} | always
    assert values(node, BROKER, "1", "log.retention.ms", "log.retention.bytes") == {
        "log.retention.ms": ("777", 2),
        "log.retention.bytes": ("999", 3),
    }
    assert values(node, TOPIC, "t", "retention.ms", "retention.bytes") == {
        "retention.ms": ("777", 2),
        "retention.bytes": ("999", 3),
    }


def test_min_insync_replicas_is_set_for_all_brokers_and_for_none_alone(node: AdminBroker) -> None:
    name = "min.insync.replicas"
    assert alter(node, BROKER, "", (name, SET, "2")) == 0
    assert alter(node, BROKER, "", (name, DELETE, None)) == 40
    assert replace(node, BROKER, "", ("log.retention.bytes", "999")) == 40
    assert values(node, TOPIC, "t", name) == {name: ("2", 3)}
    assert replace(node, BROKER, "", (name, "1")) == 0
    assert alter(node, BROKER, "1", (name, SET, "1")) == alter(node, BROKER, "1", (name, DELETE, None)) == 40
    assert replace(node, BROKER, "1", (name, "1")) == 40
    assert replace(node, BROKER, "1") == 0


def test_groups_and_subscriptions_have_defaults(node: AdminBroker) -> None:
    groups = values(node, GROUP, "g")
    assert len(groups) == 17
    assert groups["consumer.session.timeout.ms"] == ("45000", 5)
    assert values(node, CLIENT_METRICS, "s") == {
        "interval.ms": ("300000", 5),
        "match": ("", 5),
        "metrics": ("", 5),
    }


# ----------------------------------------------------------------------------------------- IncrementalAlterConfigs


@pytest.mark.parametrize("version", [0, 1])
def test_change_at_every_version(node: AdminBroker, version: int) -> None:
    assert alter(node, TOPIC, "t", ("retention.ms", SET, "5"), version=version) == 0
    assert alter(node, TOPIC, "t", ("cleanup.policy", APPEND, "compact"), version=version) == 0
    assert values(node, TOPIC, "t", "retention.ms", "cleanup.policy") == {
        "retention.ms": ("5", 1),
        "cleanup.policy": ("delete,compact", 1),
    }
    assert alter(node, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"), version=version) == 0
    assert alter(node, TOPIC, "t", ("retention.ms", DELETE, None), version=version) == 0
    assert values(node, TOPIC, "t", "retention.ms", "cleanup.policy") == {
        "retention.ms": ("604800000", 5),
        "cleanup.policy": ("compact", 1),
    }
    assert alter(node, TOPIC, "t", ("nope", SET, "1"), version=version) == ErrorCode.INVALID_CONFIG
    assert node.partitions.get("t", 0).config.cleanup_compact


@pytest.mark.parametrize(
    ("kind", "name", "changes", "code"),
    [
        (TOPIC, "none", [("retention.ms", SET, "1")], 3),
        (TOPIC, "", [("retention.ms", SET, "1")], 42),
        (TOPIC, "t", [("retention.ms", SET, "abc")], 40),
        (TOPIC, "t", [("retention.ms", SET, None)], 42),
        (TOPIC, "t", [("retention.ms", APPEND, "1")], 40),
        (TOPIC, "t", [("retention.ms", SET, "1"), ("retention.ms", SET, "2")], 42),
        (TOPIC, "t", [("retention.ms", SET, "1"), ("segment.bytes", SET, "1")], 40),
        (TOPIC, "t", [("remote.storage.enable", SET, "true")], 40),
        (TOPIC, "t", [("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "8")], 40),
        (BROKER, "2", [("log.retention.ms", SET, "1")], 42),
        (BROKER, "x", [("log.retention.ms", SET, "1")], 42),
        (BROKER, "1", [("log.retention.ms", SET, "abc")], 42),
        (BROKER, "1", [("broker.id", SET, "9")], 42),
        (BROKER, "1", [("nope", SET, "9")], 42),
        (LOGGER, "1", [("root", SET, "DEBUG")], 42),
        (CLIENT_METRICS, "", [("interval.ms", SET, "1000")], 42),
        (CLIENT_METRICS, "s", [("nope", SET, "1")], 42),
        (GROUP, "", [("consumer.session.timeout.ms", SET, "50000")], 42),
        (GROUP, "g", [("nope", SET, "1")], 40),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "5")], 40),
        (0, "x", [("a", SET, "b")], 42),
    ],
)
def test_changes_that_are_refused(
    node: AdminBroker, kind: int, name: str, changes: list[tuple[str, int, str | None]], code: int
) -> None:
    assert alter(node, kind, name, *changes) == code
    assert node.store.configs.all() == {}


def test_changes_that_are_only_tried(node: AdminBroker) -> None:
    assert alter(node, TOPIC, "t", ("retention.ms", SET, "5"), validate_only=True) == 0
    assert alter(node, BROKER, "1", ("log.retention.ms", SET, "5"), validate_only=True) == 0
    assert replace(node, TOPIC, "t", ("retention.ms", "5"), validate_only=True) == 0
    assert node.store.configs.all() == {}


def test_a_resource_that_comes_twice(node: AdminBroker) -> None:
    configs = [{"name": "retention.ms", "config_operation": SET, "value": "1"}]
    resource = {"resource_type": TOPIC, "resource_name": "t", "configs": configs}
    answer = node.call("incremental_alter_configs", 1, resources=[resource, resource])
    assert [each.error_code for each in answer.responses] == [ErrorCode.INVALID_REQUEST] * 2


# ---------------------------------------------------------------------------------------------------- AlterConfigs


@pytest.mark.parametrize("version", range(3))
def test_replace_at_every_version(node: AdminBroker, version: int) -> None:
    assert replace(node, TOPIC, "t", ("retention.ms", "5"), ("retention.bytes", "6"), version=version) == 0
    assert replace(node, TOPIC, "t", ("retention.ms", "7"), version=version) == 0
    assert values(node, TOPIC, "t", "retention.ms", "retention.bytes") == {
        "retention.ms": ("7", 1),
        "retention.bytes": ("-1", 5),
    }
    assert replace(node, TOPIC, "t", ("nope", "1"), version=version) == ErrorCode.INVALID_CONFIG
    assert replace(node, TOPIC, "t", ("retention.ms", None), version=version) == ErrorCode.INVALID_REQUEST
    assert replace(node, TOPIC, "none", version=version) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert replace(node, TOPIC, "t", version=version) == 0
    assert node.store.configs.get("topic", "t") == {}


# --------------------------------------------------------------------------------------------- ListConfigResources


def listed(node: AdminBroker, *kinds: int) -> set[tuple[int, str]]:
    answer = node.call("list_config_resources", 1, resource_types=list(kinds))
    assert answer.error_code == 0
    return {(each.resource_type, each.resource_name) for each in answer.config_resources}


def test_what_has_configs(node: AdminBroker) -> None:
    assert alter(node, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")) == 0
    assert alter(node, CLIENT_METRICS, "s", ("interval.ms", SET, "1000")) == 0
    groups, metrics = (GROUP, "g"), (CLIENT_METRICS, "s")
    assert listed(node) == {groups, metrics, (LOGGER, "1"), (BROKER, "1"), (TOPIC, "t")}
    assert listed(node, GROUP) == {groups}
    assert listed(node, TOPIC, BROKER) == {(TOPIC, "t"), (BROKER, "1")}
    old = node.call("list_config_resources", 0)
    assert [each.resource_name for each in old.config_resources] == ["s"]
    unknown = node.call("list_config_resources", 1, resource_types=[CLIENT_METRICS, 99])
    assert (unknown.error_code, unknown.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, ())
