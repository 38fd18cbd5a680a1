"""The levels of the log, and texts such as WARNING,storage=DEBUG that set the general level and those of modules.

Whether a module exists is not known here; `observability.logs` knows.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class LogLevel(StrEnum):
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


# Names of levels in other systems. There is nothing finer than DEBUG here.
_ELSEWHERE = {"TRACE": LogLevel.DEBUG, "WARN": LogLevel.WARNING, "FATAL": LogLevel.CRITICAL}


def level_name(value: object) -> object:
    """The name of a level: debug, Debug and trace are DEBUG. The type check refuses other words."""
    if not isinstance(value, str):
        return value
    name = value.strip().upper()
    return _ELSEWHERE.get(name, name)


class LogLevels(NamedTuple):
    """The general level, and the levels of single modules. Either may be missing."""

    level: LogLevel | None
    modules: dict[str, LogLevel]


def parse_log_levels(text: str | None) -> LogLevels:
    """Parse a text such as 'WARNING,storage=DEBUG,net=ERROR'. Raises ValueError with the reason if it is malformed."""
    level: LogLevel | None = None
    modules: dict[str, LogLevel] = {}
    for part in filter(None, (part.strip() for part in (text or "").split(","))):
        module, equals, name = part.rpartition("=")
        module, found = module.strip(), _level(name)
        if equals and not module:
            raise ValueError(f"{part!r} names no module; write it as storage=DEBUG")
        if modules.get(module, found) is not found:
            raise ValueError(f"{module} has two levels, {modules[module]} and {found}; give one of them")
        if not equals and level not in (None, found):
            raise ValueError(f"there are two levels for everything, {level} and {found}; give one of them")
        if equals:
            modules[module] = found
        else:
            level = found
    return LogLevels(level, modules)


def _level(text: str) -> LogLevel:
    name = str(level_name(text))
    if name not in LogLevel.__members__:
        raise ValueError(f"{name!r} is not a level; levels are {', '.join(LogLevel)}")
    return LogLevel(name)
