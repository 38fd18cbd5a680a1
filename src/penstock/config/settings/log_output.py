"""The log output of a process: levels and format."""

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
    """text: one line with key=value fields per event; json: one object per line."""
    level: Level = LogLevel.INFO
    """Level of all modules without a level of their own."""
    modules: Annotated[dict[str, Level], BeforeValidator(parse_pairs)] = Field(default_factory=dict)
    """Levels by module, such as storage: DEBUG or broker.groups: WARNING."""
