"""Config operations applied to the configs that are set now. Pure; the controller stores the result.

SET and DELETE are for every config, APPEND and SUBTRACT for lists; they start from the value in force, which may be a
default. Operations on one resource succeed or fail together.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from penstock.config.config_key import ConfigKey, ConfigType
from penstock.config.topic_configs import append_entries, subtract_entries
from penstock.model.errors import ErrorCode, KafkaError


class ConfigResourceType(enum.IntEnum):
    """Resources that have configs; the numbers of the protocol."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

    @classmethod
    def _missing_(cls, value: object) -> ConfigResourceType:
        return cls.UNKNOWN


class ConfigOperation(enum.IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_OPERATIONS = frozenset(ConfigOperation)


class ConfigChange(NamedTuple):
    """One operation. `value` is None for DELETE."""

    name: str
    operation: int
    value: str | None


class NotAList(KafkaError):
    """APPEND or SUBTRACT for a config that is not a list; INVALID_CONFIG for every kind of resource."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_CONFIG, message)


class KeyLookup(Protocol):
    """The config of a name, or a KafkaError."""

    def __call__(self, name: str) -> ConfigKey: ...


def changed_configs(
    current: Mapping[str, str],
    changes: Sequence[ConfigChange],
    *,
    lookup: KeyLookup,
    defaults: Mapping[str, str],
) -> dict[str, str]:
    """All explicit configs after the changes."""
    if len({change.name for change in changes}) < len(changes):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    result = dict(current)
    for name, operation, value in changes:
        if operation == ConfigOperation.DELETE:
            result.pop(name, None)  # an unknown name is not set either
            continue
        if operation not in _OPERATIONS:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)  # as in Kafka
        if value is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name}")
        key = lookup(name)
        if operation in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
            value = _merged(key, ConfigOperation(operation), result.get(name, defaults.get(name, "")), value)
        result[name] = key.normalize(value)
    return result


def _merged(key: ConfigKey, operation: ConfigOperation, current: str, value: str) -> str:
    if key.type is not ConfigType.LIST or not key.mergeable:
        raise NotAList(f"Can't {operation.name} to key {key.name} because its type is not LIST.")
    if not value.strip():
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Configuration '{key.name}' values must not be empty.")
    merge = append_entries if operation is ConfigOperation.APPEND else subtract_entries
    return merge(current, value)


def replaced_configs(configs: Sequence[tuple[str, str | None]], *, lookup: KeyLookup) -> dict[str, str]:
    """The explicit configs after AlterConfigs, which replaces all of them (KIP-339 says why not to use it)."""
    changes = [ConfigChange(name, ConfigOperation.SET, value) for name, value in configs]
    return changed_configs({}, changes, lookup=lookup, defaults={})


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """The differences to store: None for a config that is removed."""
    changed: dict[str, str | None] = {name: value for name, value in after.items() if before.get(name) != value}
    changed.update((name, None) for name in before if name not in after)
    return changed
