"""The 33 topic configs of Kafka 4.3 and one of our own, `message.ttl.ms`: types, defaults, allowed values, and the
broker configs that they fall back to.

All of them are accepted, checked, stored and described. Those that have an effect reach the log engine through
`cluster.controller.log_configs`; the others are for replicas, tiered storage, or work that is done in another way here,
and their texts say so.

A topic's value is the first of: set for the topic; set for this broker at run time; set for all brokers at run time;
the settings file (`topics.defaults`); Kafka's default. `ConfigLayers` in `config.config_layers` holds the middle three.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.config.config_key import (
    LONG_MAX,
    Check,
    ConfigKey,
    ConfigType,
    at_least,
    between,
    one_of,
    throttled_replicas,
    to_list,
)
from penstock.model.errors import ErrorCode, KafkaError

_MIB = 1 << 20
_DAY_MS = 24 * 3600 * 1000
_BOOL, _STR, _INT, _LONG, _DBL, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.LIST,
)


def _key(name: str, kind: ConfigType, default: object, check: Check | None, documentation: str) -> ConfigKey:
    return ConfigKey(name=name, type=kind, default=str(default), documentation=documentation, check=check)


_KEYS = (
    _key("cleanup.policy", _LIST, "delete", one_of("compact", "delete"),
         "What happens to old records: delete drops segments by age or size, compact keeps the last record of each "
         "key, both may be combined; empty keeps everything."),
    _key("compression.gzip.level", _INT, -1, between(1, 9, or_exactly=-1),
         "Accepted for compatibility: the broker compresses with the default level of gzip."),
    _key("compression.lz4.level", _INT, 9, between(1, 17),
         "Accepted for compatibility: the broker compresses with the default level of lz4."),
    _key("compression.type", _STR, "producer",
         one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
         "Codec of stored batches; producer keeps what the producer chose."),
    _key("compression.zstd.level", _INT, 3, between(-131072, 22),
         "Accepted for compatibility: the broker compresses with the default level of zstd."),
    _key("delete.retention.ms", _LONG, _DAY_MS, at_least(0),
         "How long compaction keeps the tombstone of a deleted key."),
    _key("file.delete.delay.ms", _LONG, 60_000, at_least(0),
         "Accepted for compatibility: the files of deleted segments are removed at once."),
    _key("flush.messages", _LONG, LONG_MAX, at_least(1),
         "Accepted for compatibility: flushing is a setting of the node (storage.flush)."),
    _key("flush.ms", _LONG, LONG_MAX, at_least(0),
         "Accepted for compatibility: flushing is a setting of the node (storage.flush)."),
    _key("follower.replication.throttled.replicas", _LIST, "", throttled_replicas,
         "Replicas throttled on the follower's side: partition:broker,… or *; without effect on a single node."),
    _key("index.interval.bytes", _INT, 4096, at_least(0),
         "Bytes of log between two entries of its offset index."),
    _key("leader.replication.throttled.replicas", _LIST, "", throttled_replicas,
         "Replicas throttled on the leader's side: partition:broker,… or *; without effect on a single node."),
    _key("local.retention.bytes", _LONG, -2, at_least(-2),
         "Local part of a tiered log, by size; without tiered storage it has no effect."),
    _key("local.retention.ms", _LONG, -2, at_least(-2),
         "Local part of a tiered log, by age; without tiered storage it has no effect."),
    _key("max.compaction.lag.ms", _LONG, LONG_MAX, at_least(1),
         "Longest time a record may stay uncompacted."),
    _key("max.message.bytes", _INT, 1_048_588, at_least(0),
         "Largest record batch, as sent."),
    _key("message.timestamp.after.max.ms", _LONG, 3_600_000, at_least(0),
         "How far a record's time may lie ahead of the broker's clock."),
    _key("message.timestamp.before.max.ms", _LONG, LONG_MAX, at_least(0),
         "How far a record's time may lie behind the broker's clock."),
    _key("message.timestamp.type", _STR, "CreateTime", one_of("CreateTime", "LogAppendTime"),
         "Whether records keep the producer's time or get the broker's."),
    _key("message.ttl.ms", _LONG, -1, at_least(-1),
         "Age at which the push door does not send a message any more; -1 for never. Fetch still shows it."),
    _key("min.cleanable.dirty.ratio", _DBL, 0.5, between(0, 1),
         "Share of a log that must be uncompacted before it is compacted again."),
    _key("min.compaction.lag.ms", _LONG, 0, at_least(0),
         "Shortest time a record stays uncompacted."),
    _key("min.insync.replicas", _INT, 1, at_least(1),
         "Replicas that must have a record before acks=all is answered; without effect on a single node."),
    _key("preallocate", _BOOL, "false", None,
         "Accepted for compatibility: segments are not allocated in advance."),
    _key("remote.log.copy.disable", _BOOL, "false", None,
         "Accepted for compatibility: there is no tiered storage."),
    _key("remote.log.delete.on.disable", _BOOL, "false", None,
         "Accepted for compatibility: there is no tiered storage."),
    _key("remote.storage.enable", _BOOL, "false", None,
         "Tiered storage; cannot be switched on."),
    _key("retention.bytes", _LONG, -1, None,
         "Size to which a partition may grow before its oldest segments are dropped; -1 for any."),
    _key("retention.ms", _LONG, 7 * _DAY_MS, at_least(-1),
         "Age at which segments are dropped; -1 for never."),
    _key("segment.bytes", _INT, 1 << 30, at_least(_MIB),
         "Size of a segment file."),
    _key("segment.index.bytes", _INT, 10 * _MIB, at_least(4),
         "Accepted for compatibility: an index file is as long as its entries."),
    _key("segment.jitter.ms", _LONG, 0, at_least(0),
         "Accepted for compatibility: segments are rolled without jitter."),
    _key("segment.ms", _LONG, 7 * _DAY_MS, at_least(1),
         "Age at which a segment is closed and the next one begun."),
    _key("unclean.leader.election.enable", _BOOL, "false", None,
         "Whether a replica that lags may become leader; without effect on a single node."),
)  # fmt: skip

TOPIC_CONFIGS: Mapping[str, ConfigKey] = {key.name: key for key in _KEYS}

BROKER_NAMES: Mapping[str, str] = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}
"""The broker config that is the default of a topic config. Configs that are not here have none."""

TOPIC_NAMES: Mapping[str, str] = {broker: topic for topic, broker in BROKER_NAMES.items()}

FALLBACKS: Mapping[str, tuple[str, str]] = {
    "log.retention.ms": ("log.retention.hours", "168"),
    "log.roll.ms": ("log.roll.hours", "168"),
    "log.roll.jitter.ms": ("log.roll.jitter.hours", "0"),
    "log.flush.interval.ms": ("log.flush.scheduler.interval.ms", str(LONG_MAX)),
}
"""Broker configs without a default of their own: the older config in another unit that has one."""


def topic_config(name: str) -> ConfigKey:
    key = TOPIC_CONFIGS.get(name)
    if key is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    return key


def normalize(name: str, value: str) -> str:
    """The stored spelling of one topic config; INVALID_CONFIG for an unknown name or a bad value."""
    return topic_config(name).normalize(value)


def normalize_all(configs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The configs of a new topic; a later value of the same name wins, as in Kafka."""
    result = {}
    for name, value in configs:
        key = topic_config(name)
        if value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
        result[name] = key.normalize(value)
    return result


def check_together(explicit: Mapping[str, str], defaults: Mapping[str, str]) -> None:
    """Rules between configs, over the values that a topic would have."""
    effective = {**defaults, **explicit}
    shortest, longest = int(effective["min.compaction.lag.ms"]), int(effective["max.compaction.lag.ms"])
    if shortest > longest:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})",
        )
    if effective["remote.storage.enable"] == "true":
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        )


def append_entries(current: str, value: str) -> str:
    """The list with further entries (APPEND); existing entries keep their places."""
    return ",".join(dict.fromkeys([*to_list(current), *to_list(value)]))


def subtract_entries(current: str, value: str) -> str:
    gone = set(to_list(value))
    return ",".join(entry for entry in to_list(current) if entry not in gone)
