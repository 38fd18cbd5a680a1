"""Configs of client-metrics subscriptions (KIP-714): which metrics, how often, of which clients.

    metrics        prefixes of metric names, "*" for all; none: nothing is pushed
    interval.ms    time between two pushes of a client
    match          selector=pattern pairs that a client has to match, all of them; none: every client

Patterns are regular expressions that have to match the whole of a client's attribute. They are RE2's, whose time is
linear in the text whatever the pattern: a client chooses its own name, and with Python's engine a careless pattern and
a crafted name would stop the node. RE2 lacks look-around and back-references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from penstock.config.config_key import ConfigKey, ConfigSource, ConfigType, Value
from penstock.config.config_layers import DescribedConfig, Synonym
from penstock.model.errors import ErrorCode, KafkaError

ALL_METRICS = "*"
INTERVAL_MS_DEFAULT = 300_000
_INTERVAL_MS_MIN, _INTERVAL_MS_MAX = 100, 3_600_000

SELECTORS = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


class Pattern(Protocol):
    """A compiled pattern; a text matches if the result is not None."""

    def fullmatch(self, text: str) -> object | None: ...


def parse_patterns(pairs: Sequence[str]) -> dict[str, Pattern]:
    """Patterns by selector; of a repeated selector the last. INVALID_CONFIG if one of them is malformed."""
    patterns = {}
    for pair in pairs:
        selector, *values = pair.split("=")
        if len(values) != 1 or not values[0] or selector.strip() not in SELECTORS:
            raise _illegal(pair)
        patterns[selector.strip()] = _compiled(pair, values[0].strip())
    return patterns


def _compiled(pair: str, text: str) -> Pattern:
    import re2  # only nodes that use patterns pay for the import

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        pattern: Any = re2.compile(text, options)
    except re2.error:
        raise _illegal(pair) from None
    return pattern  # type: ignore[no-any-return]


def _illegal(pair: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pair}")


def _check_interval(name: str, value: Value) -> None:
    assert isinstance(value, int)
    if not _INTERVAL_MS_MIN <= value <= _INTERVAL_MS_MAX:
        message = f"Invalid value {value} for {name}, interval must be between 100 and 3600000 (1 hour)"
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)


def _check_entries(name: str, value: Value) -> None:
    assert isinstance(value, list)
    if not all(value):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Configuration '{name}' values must not be empty.")


def _check_match(name: str, value: Value) -> None:
    assert isinstance(value, list)
    _check_entries(name, value)
    parse_patterns(value)


CLIENT_METRICS_CONFIGS: Mapping[str, ConfigKey] = {
    key.name: key
    for key in (
        ConfigKey(
            name="interval.ms",
            type=ConfigType.INT,
            default=str(INTERVAL_MS_DEFAULT),
            check=_check_interval,
            documentation="Metrics push interval in milliseconds",
        ),
        ConfigKey(
            name="match",
            type=ConfigType.LIST,
            default="",
            check=_check_match,
            mergeable=False,
            documentation="Client match criteria",
        ),
        ConfigKey(
            name="metrics",
            type=ConfigType.LIST,
            default="",
            check=_check_entries,
            mergeable=False,
            documentation="Telemetry metric name prefix list",
        ),
    )
}


def client_metrics_config(name: str) -> ConfigKey:
    key = CLIENT_METRICS_CONFIGS.get(name)
    if key is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    return key


def describe_client_metrics(explicit: Mapping[str, str]) -> list[DescribedConfig]:
    return [_described(key, explicit.get(key.name)) for key in CLIENT_METRICS_CONFIGS.values()]


def _described(key: ConfigKey, value: str | None) -> DescribedConfig:
    if value is None:
        return DescribedConfig(key.name, key.default, key.type, ConfigSource.DEFAULT, (), key.documentation)
    source = ConfigSource.CLIENT_METRICS
    synonyms = (Synonym(key.name, value, source),)
    return DescribedConfig(key.name, value, key.type, source, synonyms, key.documentation)
