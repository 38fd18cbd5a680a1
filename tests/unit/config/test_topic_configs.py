"""The table of topic configs: which values are taken, how they are written, and where a value comes from."""

import pytest

from penstock.cluster.controller.config_changes import ConfigChange, ConfigOperation, changed_configs, difference
from penstock.cluster.controller.log_configs import to_log_config
from penstock.config.broker_configs import broker_config, describe_broker, describe_default_broker
from penstock.config.config_key import LONG_MAX, ConfigSource, ConfigType
from penstock.config.config_layers import ConfigLayers
from penstock.config.settings import Settings
from penstock.config.topic_configs import (
    BROKER_NAMES,
    TOPIC_CONFIGS,
    append_entries,
    check_together,
    normalize,
    normalize_all,
    subtract_entries,
    topic_config,
)
from penstock.model.errors import ErrorCode, KafkaError
from penstock.storage.interface import LogConfig

pytestmark = pytest.mark.feature("K-13")


def test_there_are_33_of_kafka_and_one_more_and_their_defaults_are_valid() -> None:
    assert len(TOPIC_CONFIGS) == 33 + 1
    assert TOPIC_CONFIGS["message.ttl.ms"].default == "-1"
    for name, key in TOPIC_CONFIGS.items():
        assert key.default is not None
        assert normalize(name, key.default) == key.default
        assert key.documentation


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("retention.ms", " 5 ", "5"),
        ("retention.ms", "-1", "-1"),
        ("retention.ms", "+7", "7"),
        ("retention.bytes", "-5", "-5"),
        ("preallocate", "TRUE", "true"),
        ("min.cleanable.dirty.ratio", "1", "1.0"),
        ("min.cleanable.dirty.ratio", "5e-1", "0.5"),
        ("cleanup.policy", "", ""),
        ("cleanup.policy", "compact, delete", "compact,delete"),
        ("cleanup.policy", "compact,compact", "compact"),
        ("compression.gzip.level", "-1", "-1"),
        ("compression.gzip.level", "9", "9"),
        ("leader.replication.throttled.replicas", "*", "*"),
        ("leader.replication.throttled.replicas", "0:1,1:1", "0:1,1:1"),
        ("segment.bytes", "1048576", "1048576"),
        ("message.timestamp.type", "LogAppendTime", "LogAppendTime"),
        ("max.compaction.lag.ms", str(LONG_MAX), str(LONG_MAX)),
    ],
)
def test_values_that_are_taken(name: str, value: str, stored: str) -> None:
    assert normalize(name, value) == stored


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("nope", "1", "Unknown topic config name: nope"),
        ("message.format.version", "3.0", "Unknown topic config name: message.format.version"),
        ("retention.ms", "abc", "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "1_000", "Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "٣", "Invalid value ٣ for configuration retention.ms: Not a number of type LONG"),
        ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ("segment.bytes", "1048575",
         "Invalid value 1048575 for configuration segment.bytes: Value must be at least 1048576"),
        ("max.message.bytes", "99999999999",
         "Invalid value 99999999999 for configuration max.message.bytes: Not a number of type INT"),
        ("cleanup.policy", "none",
         "Invalid value none for configuration cleanup.policy: String must be one of: compact, delete"),
        ("compression.type", "GZIP",
         "Invalid value GZIP for configuration compression.type: "
         "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("compression.gzip.level", "0",
         "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"),
        ("compression.lz4.level", "18",
         "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17"),
        ("preallocate", "maybe",
         "Invalid value maybe for configuration preallocate: Expected value to be either true or false"),
        ("min.cleanable.dirty.ratio", "2",
         "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "nan",
         "Invalid value nan for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"),
        ("min.cleanable.dirty.ratio", "1e999",
         "Invalid value 1e999 for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"),
        ("follower.replication.throttled.replicas", "x",
         "Invalid value x for configuration follower.replication.throttled.replicas: "
         "follower.replication.throttled.replicas must be the literal '*' or a list of replicas in the following "
         "format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."),
    ],
)  # fmt: skip
def test_values_that_are_refused(name: str, value: str, message: str) -> None:
    with pytest.raises(KafkaError) as error:
        normalize(name, value)
    assert (error.value.code, error.value.message) == (ErrorCode.INVALID_CONFIG, message)


def test_a_new_topic_cannot_have_null_configs() -> None:
    with pytest.raises(KafkaError) as error:
        normalize_all([("retention.ms", None)])
    assert error.value.code is ErrorCode.INVALID_CONFIG
    assert normalize_all([("retention.ms", "1"), ("retention.ms", "2")]) == {"retention.ms": "2"}


def test_rules_between_configs() -> None:
    defaults = ConfigLayers({}).effective
    for configs in (
        {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
        {"remote.storage.enable": "true"},
    ):
        with pytest.raises(KafkaError) as error:
            check_together(configs, defaults)
        assert error.value.code is ErrorCode.INVALID_CONFIG
    check_together({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"}, defaults)


# ------------------------------------------------------------------------------------------------------ the layers


def test_without_layers_everything_is_kafkas_default() -> None:
    layers = ConfigLayers({})
    described = {config.name: config for config in layers.describe_topic({})}
    assert set(described) == set(TOPIC_CONFIGS)
    minimum = described.pop("min.insync.replicas")
    assert (minimum.value, minimum.source) == ("1", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    assert {config.source for config in described.values()} == {ConfigSource.DEFAULT}
    assert described["segment.bytes"].synonyms == (("log.segment.bytes", "1073741824", ConfigSource.DEFAULT),)
    assert described["retention.ms"].synonyms == ()  # its default comes from log.retention.hours
    assert described["remote.storage.enable"].synonyms == ()
    assert described["min.cleanable.dirty.ratio"].type is ConfigType.DOUBLE
    assert to_log_config({}, layers.effective) == LogConfig()


def test_the_strongest_layer_wins_and_all_are_shown() -> None:
    layers = ConfigLayers({"retention.ms": "4"})
    assert layers.effective["retention.ms"] == "4"
    layers.set_dynamic(default=True, configs={"log.retention.ms": "3"})
    assert layers.effective["retention.ms"] == "3"
    layers.set_dynamic(default=False, configs={"log.retention.ms": "2"})
    assert layers.effective["retention.ms"] == "2"
    (config,) = [each for each in layers.describe_topic({"retention.ms": "1"}) if each.name == "retention.ms"]
    assert (config.value, config.source) == ("1", ConfigSource.TOPIC)
    assert config.synonyms == (
        ("retention.ms", "1", ConfigSource.TOPIC),
        ("log.retention.ms", "2", ConfigSource.DYNAMIC_BROKER),
        ("log.retention.ms", "3", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("log.retention.ms", "4", ConfigSource.STATIC_BROKER),
        ("log.retention.hours", "168", ConfigSource.DEFAULT),
    )
    layers.set_dynamic(default=False, configs={})
    layers.set_dynamic(default=True, configs={})
    assert layers.effective["retention.ms"] == "4"


def test_every_config_reaches_the_log_engine() -> None:
    explicit = {
        "segment.bytes": "2000000",
        "segment.ms": "1",
        "index.interval.bytes": "2",
        "retention.ms": "3",
        "retention.bytes": "4",
        "cleanup.policy": "compact",
        "delete.retention.ms": "5",
        "min.compaction.lag.ms": "6",
        "max.compaction.lag.ms": "7",
        "min.cleanable.dirty.ratio": "0.25",
        "max.message.bytes": "8",
        "message.timestamp.type": "LogAppendTime",
        "message.timestamp.before.max.ms": "9",
        "message.timestamp.after.max.ms": "10",
        "compression.type": "zstd",
    }
    assert to_log_config(explicit, ConfigLayers({}).effective) == LogConfig(
        segment_bytes=2_000_000,
        segment_ms=1,
        index_interval_bytes=2,
        retention_ms=3,
        retention_bytes=4,
        cleanup_delete=False,
        cleanup_compact=True,
        delete_retention_ms=5,
        min_compaction_lag_ms=6,
        max_compaction_lag_ms=7,
        min_cleanable_dirty_ratio=0.25,
        max_message_bytes=8,
        log_append_time=True,
        timestamp_before_max_ms=9,
        timestamp_after_max_ms=10,
        compression_type="zstd",
    )
    nothing = to_log_config({"cleanup.policy": ""}, ConfigLayers({}).effective)
    assert (nothing.cleanup_delete, nothing.cleanup_compact) == (False, False)


# --------------------------------------------------------------------------------------------------------- changes


def changed(current: dict[str, str], *changes: tuple[str, int, str | None]) -> dict[str, str]:
    steps = [ConfigChange(*change) for change in changes]
    return changed_configs(current, steps, lookup=topic_config, defaults=ConfigLayers({}).effective)


def test_set_delete_append_subtract() -> None:
    assert changed({}, ("retention.ms", ConfigOperation.SET, "5")) == {"retention.ms": "5"}
    assert changed({"retention.ms": "5"}, ("retention.ms", ConfigOperation.DELETE, None)) == {}
    assert changed({}, ("nope", ConfigOperation.DELETE, None)) == {}
    assert changed({}, ("cleanup.policy", ConfigOperation.APPEND, "compact")) == {"cleanup.policy": "delete,compact"}
    both = {"cleanup.policy": "delete,compact"}
    assert changed(both, ("cleanup.policy", ConfigOperation.APPEND, "compact")) == both
    assert changed(both, ("cleanup.policy", ConfigOperation.SUBTRACT, "delete")) == {"cleanup.policy": "compact"}
    last = {"cleanup.policy": "compact"}
    assert changed(last, ("cleanup.policy", ConfigOperation.SUBTRACT, "compact")) == {"cleanup.policy": ""}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([("retention.ms", 0, None)], ErrorCode.INVALID_REQUEST),
        ([("nope", 0, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", 2, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", 3, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", 9, "1")], ErrorCode.UNKNOWN_SERVER_ERROR),
        ([("cleanup.policy", 2, "foo")], ErrorCode.INVALID_CONFIG),
        ([("cleanup.policy", 2, "")], ErrorCode.INVALID_CONFIG),
        ([("cleanup.policy", 2, None)], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", 0, "1"), ("retention.ms", 0, "2")], ErrorCode.INVALID_REQUEST),
    ],
)
def test_changes_that_are_refused(changes: list[tuple[str, int, str | None]], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as error:
        changed({}, *changes)
    assert error.value.code is code


def test_lists_are_merged_entry_by_entry() -> None:
    assert append_entries("", "a") == "a"
    assert append_entries("a,b", "b,c") == "a,b,c"
    assert subtract_entries("a,b,c", "b, c") == "a"
    assert difference({"a": "1", "b": "2"}, {"b": "3", "c": "4"}) == {"a": None, "b": "3", "c": "4"}


# ---------------------------------------------------------------------------------------------------------- broker


def test_a_broker_shows_its_settings_and_the_topic_defaults() -> None:
    settings = Settings.model_validate({"node": {"id": 7}, "topics": {"default_partitions": 3}})
    layers = ConfigLayers({"segment.bytes": "2097152"})
    configs = {config.name: config for config in describe_broker(settings, layers)}
    assert list(configs) == sorted(configs)
    assert set(BROKER_NAMES.values()) <= set(configs)
    assert (configs["broker.id"].value, configs["broker.id"].read_only) == ("7", True)
    assert configs["num.partitions"].synonyms == (
        ("num.partitions", "3", ConfigSource.STATIC_BROKER),
        ("num.partitions", "1", ConfigSource.DEFAULT),
    )
    assert (configs["auto.create.topics.enable"].value, configs["auto.create.topics.enable"].source) == (
        "true",
        ConfigSource.DEFAULT,
    )
    assert (configs["log.segment.bytes"].value, configs["log.segment.bytes"].source) == (
        "2097152",
        ConfigSource.STATIC_BROKER,
    )
    assert (configs["log.retention.ms"].value, configs["log.retention.ms"].read_only) == (None, False)
    assert configs["log.retention.hours"].value == "168"


def test_the_default_of_all_brokers_shows_only_what_was_set() -> None:
    layers = ConfigLayers({"segment.bytes": "2097152"})
    (minimum,) = describe_default_broker(layers)
    assert (minimum.name, minimum.value) == ("min.insync.replicas", "1")
    layers.set_dynamic(default=True, configs={"log.retention.bytes": "5"})
    config, _ = describe_default_broker(layers)
    assert (config.name, config.value, config.source) == (
        "log.retention.bytes",
        "5",
        ConfigSource.DYNAMIC_DEFAULT_BROKER,
    )


def test_what_may_be_changed_on_a_broker() -> None:
    assert broker_config("log.retention.ms").normalize("5") == "5"
    with pytest.raises(KafkaError) as error:
        broker_config("log.dirs")
    assert error.value.message == "Cannot update these configs dynamically: [log.dirs]"
    with pytest.raises(KafkaError):
        broker_config("nope")
