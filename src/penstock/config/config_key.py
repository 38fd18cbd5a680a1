"""One config by Kafka's name: its type, its default, the values it takes, and their spelling in Kafka.

Values travel and are stored as text. `ConfigKey.normalize` turns a text into the one spelling that is stored and
described (' 5 ' becomes '5', 'TRUE' becomes 'true'), or raises INVALID_CONFIG in Kafka's words. The tables of topic,
broker, group and client-metrics configs are made of these keys.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from penstock.model.errors import ErrorCode, KafkaError

LONG_MAX = (1 << 63) - 1

Value = bool | int | float | str | list[str]
Check = Callable[[str, Value], str | None]
"""Takes the name and value of a config and returns the problem with it, None if there is none. It raises where Kafka's
text or code is not the usual one."""


class ConfigType(enum.IntEnum):
    """The numbers of DescribeConfigs v3 and up."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSource(enum.IntEnum):
    """Where a value comes from; the numbers of DescribeConfigs."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


_BITS = {ConfigType.SHORT: 15, ConfigType.INT: 31, ConfigType.LONG: 63}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigKey:
    """A config that exists. `default` is None where Kafka has no value until one is set."""

    name: str
    type: ConfigType
    default: str | None
    documentation: str
    check: Check | None = None
    read_only: bool = False
    mergeable: bool = True
    """Whether a list can be appended to; those of client-metrics subscriptions cannot, in Kafka."""

    def parse(self, text: str) -> Value:
        """The value of a text, checked. INVALID_CONFIG if it is not valid."""
        value = self._read(text)
        problem = self.check(self.name, value) if self.check is not None else None
        if problem is not None:
            raise invalid_value(self.name, text.strip() if not isinstance(value, float) else value, problem)
        return value

    def normalize(self, text: str) -> str:
        return to_text(self.parse(text))

    def _read(self, text: str) -> Value:
        if self.type is ConfigType.LIST:
            return to_list(text)
        text = text.strip()
        if self.type is ConfigType.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise invalid_value(self.name, text, "Expected value to be either true or false")
            return text.lower() == "true"
        if self.type is ConfigType.DOUBLE:
            if _DECIMAL.fullmatch(text) is None or math.isinf(float(text)):
                raise invalid_value(self.name, text, "Not a number of type DOUBLE")
            return float(text)
        bits = _BITS.get(self.type)
        if bits is None:
            return text
        if _INTEGER.fullmatch(text) is None or len(text) > 20 or not -(1 << bits) <= int(text) < 1 << bits:
            raise invalid_value(self.name, text, f"Not a number of type {self.type.name}")
        return int(text)


def to_list(text: str) -> list[str]:
    """The entries of a comma-separated list; the empty text is the empty list."""
    return re.split(r"\s*,\s*", text.strip()) if text.strip() else []


def to_text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(dict.fromkeys(value))
    return str(value)


def invalid_value(name: str, value: object, problem: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {problem}")


def at_least(low: float) -> Check:
    def check(_: str, value: Value) -> str | None:
        assert isinstance(value, int | float)
        return f"Value must be at least {low}" if value < low else None

    return check


def between(low: float, high: float, *, or_exactly: int | None = None) -> Check:
    def check(_: str, value: Value) -> str | None:
        assert isinstance(value, int | float)
        if value == or_exactly or low <= value <= high:
            return None
        if or_exactly is not None:
            return f"Value must be between {low} and {high} or equal to {or_exactly}"
        return f"Value must be at least {low}" if value < low else f"Value must be no more than {high}"

    return check


def one_of(*allowed: str) -> Check:
    """A check of a string, or of every entry of a list."""

    def check(_: str, value: Value) -> str | None:
        entries = value if isinstance(value, list) else [value]
        if all(entry in allowed for entry in entries):
            return None
        return f"String must be one of: {', '.join(allowed)}"

    return check


_THROTTLED_REPLICA = re.compile(r"[0-9]+:[0-9]+")


def throttled_replicas(name: str, value: Value) -> str | None:
    assert isinstance(value, list)
    if value == ["*"] or all(_THROTTLED_REPLICA.fullmatch(entry) for entry in value):
        return None
    return (
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )
