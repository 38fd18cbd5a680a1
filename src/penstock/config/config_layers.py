"""The defaults of topic configs, layer over layer, and where each value comes from.

    dynamic broker    set at run time for this broker       (AlterConfigs on its id)
    dynamic default   set at run time for all brokers       (AlterConfigs on the broker '')
    static            the settings file                     (topics.defaults)
    default           Kafka's

The layers are kept under the broker configs' names; `effective` gives the values under the topic configs' names. Only
the controller changes them, after the change is durable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from penstock.config.config_key import ConfigSource, ConfigType
from penstock.config.topic_configs import BROKER_NAMES, FALLBACKS, TOPIC_CONFIGS, TOPIC_NAMES, topic_config
from penstock.model.errors import ErrorCode, KafkaError

MIN_INSYNC = "min.insync.replicas"


class Synonym(NamedTuple):
    """One of the places that could have given a config its value; the first one of a list did."""

    name: str
    value: str | None
    source: ConfigSource


class DescribedConfig(NamedTuple):
    """A config as DescribeConfigs and CreateTopics show it."""

    name: str
    value: str | None
    type: ConfigType
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
    documentation: str
    read_only: bool = False
    sensitive: bool = False


class ConfigLayers:
    """The node's defaults for topics."""

    def __init__(self, static: Mapping[str, str]) -> None:
        """`static` is by the topic configs' names. INVALID_CONFIG if one is unknown, invalid, or has no default."""
        self.static: dict[str, str] = {}
        for name, value in static.items():
            normalized = topic_config(name).normalize(value)
            if name not in BROKER_NAMES:
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} can be set for a topic only")
            self.static[BROKER_NAMES[name]] = normalized
        self.always_set = {MIN_INSYNC: self.static.get(MIN_INSYNC, TOPIC_CONFIGS[MIN_INSYNC].default or "")}
        """Set for all brokers from the start, as Kafka does when it formats its storage."""
        self.dynamic_default: dict[str, str] = dict(self.always_set)
        self.dynamic_broker: dict[str, str] = {}
        self._effective: dict[str, str] | None = None

    def set_dynamic(self, *, default: bool, configs: Mapping[str, str]) -> None:
        """Replace one of the two dynamic layers."""
        if default:
            self.dynamic_default = {**self.always_set, **configs}
        else:
            self.dynamic_broker = dict(configs)
        self._effective = None

    @property
    def effective(self) -> Mapping[str, str]:
        """The value of every topic config for a topic that sets none."""
        if self._effective is None:
            self._effective = {name: self._value(name) for name in TOPIC_CONFIGS}
        return self._effective

    def _value(self, name: str) -> str:
        synonyms = self.synonyms(BROKER_NAMES[name]) if name in BROKER_NAMES else ()
        default = TOPIC_CONFIGS[name].default
        assert default is not None
        if not synonyms or synonyms[0].source is ConfigSource.DEFAULT:
            return default
        return synonyms[0].value or ""

    def synonyms(self, broker_name: str) -> tuple[Synonym, ...]:
        """The layers that set a broker config, strongest first. Empty if it has neither a value nor a default."""
        found = [
            Synonym(broker_name, layer[broker_name], source)
            for layer, source in (
                (self.dynamic_broker, ConfigSource.DYNAMIC_BROKER),
                (self.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER),
                (self.static, ConfigSource.STATIC_BROKER),
            )
            if broker_name in layer
        ]
        if broker_name in FALLBACKS:
            if found:
                found.append(Synonym(*FALLBACKS[broker_name], ConfigSource.DEFAULT))
        else:
            default = TOPIC_CONFIGS[TOPIC_NAMES[broker_name]].default
            found.append(Synonym(broker_name, default, ConfigSource.DEFAULT))
        return tuple(found)

    def describe_topic(self, explicit: Mapping[str, str]) -> list[DescribedConfig]:
        """All configs of a topic, by name."""
        return [self._describe(name, explicit) for name in TOPIC_CONFIGS]

    def _describe(self, name: str, explicit: Mapping[str, str]) -> DescribedConfig:
        key = TOPIC_CONFIGS[name]
        synonyms = self.synonyms(BROKER_NAMES[name]) if name in BROKER_NAMES else ()
        if name in explicit:
            synonyms = (Synonym(name, explicit[name], ConfigSource.TOPIC), *synonyms)
        value = explicit.get(name, self.effective[name])
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
        return DescribedConfig(name, value, key.type, source, synonyms, key.documentation)
