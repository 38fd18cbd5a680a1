"""The configs of a broker in DescribeConfigs: those of Kafka that have a meaning here, from our settings.

Two kinds. The defaults of topic configs (`log.retention.ms` …) can be changed at run time, for this broker or for all;
they live in `ConfigLayers`. The rest mirrors the settings file and is read-only. Kafka's other configs (threads,
quorum …) do not exist here and are not shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.config_key import ConfigKey, ConfigSource, ConfigType
from penstock.config.config_layers import ConfigLayers, DescribedConfig, Synonym
from penstock.config.security_configs import SECURITY_CONFIGS, configs_of_listeners
from penstock.config.settings import Settings
from penstock.config.static_config import StaticConfig as _Static
from penstock.config.topic_configs import FALLBACKS, TOPIC_CONFIGS, TOPIC_NAMES
from penstock.model.errors import ErrorCode, KafkaError

_BOOL, _STR, _INT, _SHORT, _LONG, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.SHORT,
    ConfigType.LONG,
    ConfigType.LIST,
)


_STATIC = (
    *SECURITY_CONFIGS,
    _Static("auto.create.topics.enable", _BOOL, lambda s: s.topics.auto_create, True,
            "Whether a topic is created when a client first asks for it."),
    _Static("broker.id", _INT, lambda s: s.node.id, -1, "Number of this node."),
    _Static("broker.rack", _STR, lambda s: s.node.rack, None, "Where this node stands."),
    _Static("connections.max.idle.ms", _LONG, lambda s: s.kafka.idle_timeout_ms, 600_000,
            "Close a connection without a request for this long."),
    _Static("default.replication.factor", _INT, lambda _: 1, 1, "Replicas of a topic created without a number."),
    _Static("delete.topic.enable", _BOOL, lambda _: True, True, "Topics can be deleted."),
    _Static("fetch.max.bytes", _INT, lambda s: s.limits.fetch_bytes_max, 57_671_680,
            "Most bytes one fetch returns."),
    _Static("group.initial.rebalance.delay.ms", _INT, lambda s: s.groups.initial_rebalance_delay_ms, 3_000,
            "How long a new group waits for more members."),
    _Static("group.max.session.timeout.ms", _INT, lambda s: s.groups.session_timeout_max_ms, 1_800_000,
            "Longest session timeout of a member."),
    _Static("group.max.size", _INT, lambda s: s.groups.members_max, 2_147_483_647, "Most members of one group."),
    _Static("group.min.session.timeout.ms", _INT, lambda s: s.groups.session_timeout_min_ms, 6_000,
            "Shortest session timeout of a member."),
    _Static("log.cleaner.backoff.ms", _LONG, lambda s: s.storage.compaction_check_interval_ms, 15_000,
            "Time between looks for logs to compact."),
    _Static("log.cleaner.enable", _BOOL, lambda _: True, True, "Compacted topics are compacted."),
    _Static("log.dirs", _LIST, lambda s: s.node.data_dir.absolute(), None, "Where the logs are."),
    _Static("log.flush.scheduler.interval.ms", _LONG, lambda _: (1 << 63) - 1, (1 << 63) - 1,
            "Flushing is a setting of the node (storage.flush)."),
    _Static("log.retention.check.interval.ms", _LONG, lambda s: s.storage.retention_check_interval_ms, 300_000,
            "Time between retention runs."),
    _Static("log.retention.hours", _INT, lambda _: 168, 168, "Unless log.retention.ms is set."),
    _Static("log.roll.hours", _INT, lambda _: 168, 168, "Unless log.roll.ms is set."),
    _Static("log.roll.jitter.hours", _INT, lambda _: 0, 0, "Unless log.roll.jitter.ms is set."),
    _Static("max.connections", _INT, lambda s: s.limits.connections_max, 2_147_483_647, "Connections in all."),
    _Static("max.connections.per.ip", _INT, lambda s: s.limits.connections_per_address_max, 2_147_483_647,
            "Connections from one address."),
    _Static("max.incremental.fetch.session.cache.slots", _INT, lambda s: s.limits.fetch_sessions_max, 1_000,
            "Incremental fetch sessions kept."),
    _Static("node.id", _INT, lambda s: s.node.id, None, "Number of this node."),
    _Static("num.partitions", _INT, lambda s: s.topics.default_partitions, 1,
            "Partitions of a topic that is created without a number."),
    _Static("offset.metadata.max.bytes", _INT, lambda s: s.groups.offset_metadata_bytes_max, 4_096,
            "Longest text a member may commit with an offset."),
    _Static("offsets.retention.check.interval.ms", _LONG,
            lambda s: s.groups.offsets_retention_check_interval_ms, 600_000, "Time between looks for old offsets."),
    _Static("offsets.retention.minutes", _INT, lambda s: s.groups.offsets_retention_minutes, 10_080,
            "Drop the offsets of a group that has been empty for this long."),
    _Static("offsets.topic.num.partitions", _INT, lambda s: s.groups.offsets_topic_partitions, 50,
            "Partitions of __consumer_offsets."),
    _Static("offsets.topic.replication.factor", _SHORT, lambda _: 1, 3, "Replicas of __consumer_offsets."),
    _Static("process.roles", _LIST, lambda _: "broker,controller", None, "This node is both."),
    _Static("security.inter.broker.protocol", _STR, lambda _: "PLAINTEXT", "PLAINTEXT", "Between brokers."),
    _Static("socket.listen.backlog.size", _INT, lambda s: s.kafka.backlog, 50,
            "Connections the system may hold before they are accepted."),
    _Static("socket.request.max.bytes", _INT, lambda s: s.limits.frame_bytes_max, 104_857_600, "Largest request."),
    _Static("telemetry.max.bytes", _INT, lambda s: s.telemetry.bytes_max, 1_048_576,
            "Largest push of a client's metrics."),
)  # fmt: skip

READ_ONLY: frozenset[str] = frozenset(static.name for static in _STATIC)


def broker_config(name: str) -> ConfigKey:
    """A broker config that may be changed at run time: the default of a topic config."""
    topic_name = TOPIC_NAMES.get(name)
    if topic_name is None:
        if name in READ_ONLY:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{name}]")
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown broker config name: {name}")
    key = TOPIC_CONFIGS[topic_name]
    default = None if name in FALLBACKS else key.default
    return ConfigKey(name=name, type=key.type, default=default, documentation=key.documentation, check=key.check)


def describe_broker(settings: Settings, layers: ConfigLayers) -> list[DescribedConfig]:
    """All configs of this node, by name."""
    described = [_describe_static(static, settings) for static in (*_STATIC, *configs_of_listeners(settings))]
    described += [_describe_default(name, layers.synonyms(name)) for name in TOPIC_NAMES]
    return sorted(described)


def describe_default_broker(layers: ConfigLayers) -> list[DescribedConfig]:
    """Configs set at run time for all brokers, and nothing else."""
    return [
        _describe_default(name, (Synonym(name, value, ConfigSource.DYNAMIC_DEFAULT_BROKER),))
        for name, value in sorted(layers.dynamic_default.items())
    ]


def _describe_static(static: _Static, settings: Settings) -> DescribedConfig:
    value, default = _text(static.value(settings)), _text(static.default)
    synonyms: Mapping[ConfigSource, str | None] = {
        ConfigSource.STATIC_BROKER: value if value != default else None,
        ConfigSource.DEFAULT: default,
    }
    sensitive = static.type is ConfigType.PASSWORD
    found = tuple(
        Synonym(static.name, None if sensitive else text, source)
        for source, text in synonyms.items()
        if text is not None
    )
    source = found[0].source if found else ConfigSource.DEFAULT
    if sensitive:
        return DescribedConfig(static.name, None, static.type, source, found, static.documentation, True, sensitive)
    return DescribedConfig(static.name, value, static.type, source, found, static.documentation, read_only=True)


def _describe_default(name: str, synonyms: tuple[Synonym, ...]) -> DescribedConfig:
    key = broker_config(name)
    value, source = (synonyms[0].value, synonyms[0].source) if synonyms else (None, ConfigSource.DEFAULT)
    return DescribedConfig(name, value, key.type, source, synonyms, key.documentation)


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
