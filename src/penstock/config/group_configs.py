"""Configs of groups: a small table beside those of topics and brokers.

As in Kafka, values that are set are stored, and the rest is described with its defaults. The classic group protocol has
no configs of its own: these are only checked, stored and shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.config_key import ConfigKey, ConfigSource, ConfigType, between, one_of
from penstock.config.config_layers import DescribedConfig, Synonym
from penstock.model.errors import ErrorCode, KafkaError


def _milliseconds(name: str, default: int, low: int, high: int) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=ConfigType.INT,
        default=str(default),
        check=between(low, high),
        documentation="Milliseconds, for groups of the newer protocols.",
    )


def _number(name: str, default: int, low: int, high: int) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=ConfigType.INT,
        default=str(default),
        check=between(low, high),
        documentation="For groups of the newer protocols.",
    )


def _choice(name: str, default: str, *allowed: str) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=ConfigType.STRING,
        default=default,
        check=one_of(*allowed),
        documentation="For share groups.",
    )


_GROUP_KEYS = (
    _milliseconds("consumer.assignment.interval.ms", 1_000, 0, 15_000),
    _milliseconds("consumer.heartbeat.interval.ms", 5_000, 5_000, 15_000),
    _milliseconds("consumer.session.timeout.ms", 45_000, 45_000, 60_000),
    _milliseconds("share.assignment.interval.ms", 1_000, 0, 15_000),
    ConfigKey(
        name="share.auto.offset.reset", type=ConfigType.STRING, default="latest", documentation="For share groups."
    ),
    _number("share.delivery.count.limit", 5, 2, 10),
    _milliseconds("share.heartbeat.interval.ms", 5_000, 5_000, 15_000),
    _choice("share.isolation.level", "read_uncommitted", "read_committed", "read_uncommitted"),
    _number("share.partition.max.record.locks", 2_000, 100, 4_000),
    _milliseconds("share.record.lock.duration.ms", 30_000, 15_000, 60_000),
    ConfigKey(
        name="share.renew.acknowledge.enable",
        type=ConfigType.BOOLEAN,
        default="true",
        documentation="For share groups.",
    ),
    _milliseconds("share.session.timeout.ms", 45_000, 45_000, 60_000),
    _milliseconds("streams.assignment.interval.ms", 1_000, 0, 15_000),
    _milliseconds("streams.heartbeat.interval.ms", 5_000, 5_000, 15_000),
    _milliseconds("streams.initial.rebalance.delay.ms", 3_000, 0, (1 << 31) - 1),
    _number("streams.num.standby.replicas", 0, 0, 2),
    _milliseconds("streams.session.timeout.ms", 45_000, 45_000, 60_000),
)

GROUP_CONFIGS: Mapping[str, ConfigKey] = {key.name: key for key in _GROUP_KEYS}

_WITHOUT_BROKER_CONFIG = {"share.auto.offset.reset", "share.isolation.level", "share.renew.acknowledge.enable"}


def group_config(name: str) -> ConfigKey:
    key = GROUP_CONFIGS.get(name)
    if key is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {name}")
    return key


def describe_group(explicit: Mapping[str, str]) -> list[DescribedConfig]:
    described = []
    for key in GROUP_CONFIGS.values():
        broker_name = key.name if key.name in _WITHOUT_BROKER_CONFIG else f"group.{key.name}"
        synonyms: tuple[Synonym, ...] = (Synonym(broker_name, key.default, ConfigSource.DEFAULT),)
        if key.name in explicit:
            synonyms = (Synonym(key.name, explicit[key.name], ConfigSource.GROUP), *synonyms)
        described.append(_described(key, synonyms, explicit, ConfigSource.GROUP))
    return described


def _described(
    key: ConfigKey, synonyms: tuple[Synonym, ...], explicit: Mapping[str, str], source: ConfigSource
) -> DescribedConfig:
    value = explicit.get(key.name, key.default)
    source = source if key.name in explicit else ConfigSource.DEFAULT
    return DescribedConfig(key.name, value, key.type, source, synonyms, key.documentation)
