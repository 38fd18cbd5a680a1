"""Configs of topics and brokers as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ConfigDict, Field

from penstock.cluster.controller.config_changes import ConfigChange, ConfigOperation
from penstock.config.config_layers import DescribedConfig
from penstock.node.rest.bodies import CONFIGS_MAX, Answer, ConfigName, Configs, Question, config_text


class ConfigChangesBody(Question):
    """All of it or nothing. A name may come once."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"set": {"retention.ms": "3600000"}, "delete": ["segment.ms"]}]}
    )

    set: Configs = Field(default_factory=dict)
    delete: list[ConfigName] = Field(
        default_factory=list,
        max_length=CONFIGS_MAX,
        description="Return to the value that holds without one of its own.",
    )
    append: Configs = Field(default_factory=dict, description="To a list, as cleanup.policy.")
    subtract: Configs = Field(default_factory=dict, description="From a list.")
    validate_only: bool = Field(default=False, description="Only check whether it could be done.")

    def changes(self) -> list[ConfigChange]:
        wanted = (
            (ConfigOperation.SET, self.set),
            (ConfigOperation.APPEND, self.append),
            (ConfigOperation.SUBTRACT, self.subtract),
        )
        return [
            *(
                ConfigChange(name, operation, config_text(value))
                for operation, part in wanted
                for name, value in part.items()
            ),
            *(ConfigChange(name, ConfigOperation.DELETE, None) for name in self.delete),
        ]


class SynonymBody(Answer):
    name: str = Field(examples=["log.retention.ms"])
    value: str | None = Field(examples=["604800000"])
    source: str = Field(examples=["DEFAULT"])


class ConfigBody(Answer):
    name: str = Field(examples=["retention.ms"])
    value: str | None = Field(examples=["3600000"])
    type: str = Field(examples=["LONG"])
    source: str = Field(
        description="TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER or DEFAULT.", examples=["TOPIC"]
    )
    read_only: bool = Field(description="It is set in the settings of the node.", examples=[False])
    sensitive: bool = Field(examples=[False])
    documentation: str = Field(examples=["How long messages are kept."])
    synonyms: list[SynonymBody] = Field(description="The possible sources of its value, strongest first.")

    @classmethod
    def of(cls, config: DescribedConfig) -> ConfigBody:
        return cls(
            name=config.name,
            value=config.value,
            type=config.type.name,
            source=config.source.name,
            read_only=config.read_only,
            sensitive=config.sensitive,
            documentation=config.documentation,
            synonyms=[
                SynonymBody(name=each.name, value=each.value, source=each.source.name) for each in config.synonyms
            ],
        )


class ConfigsBody(Answer):
    configs: list[ConfigBody]

    @classmethod
    def of(cls, configs: Iterable[DescribedConfig]) -> ConfigsBody:
        return cls(configs=[ConfigBody.of(config) for config in configs])
