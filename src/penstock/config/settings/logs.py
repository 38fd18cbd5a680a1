"""The log: levels, format and place."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from penstock.config.log_levels import LogLevel, level_name
from penstock.config.settings.values import Section, parse_pairs

Level = Annotated[LogLevel, BeforeValidator(level_name)]


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class LoggingSettings(Section):
    format: LogFormat = LogFormat.TEXT
    """text: one line for people with key=value fields; json: one object a line."""
    level: Level = LogLevel.INFO
    """Level of everything that has no level of its own."""
    modules: Annotated[dict[str, Level], BeforeValidator(parse_pairs)] = Field(default_factory=dict)
    """Levels by module, such as storage: DEBUG or broker.groups: WARNING."""
