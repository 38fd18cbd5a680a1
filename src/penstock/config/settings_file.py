"""A file of settings, as `GivenValue` values under the names in the file.

Three shapes, and mixtures of them; names of other systems (`references`) may appear in all of them:

    YAML              kafka:
                        port: 9092
    YAML with dots    kafka.port: 9092
    assignments       kafka.port = 9092

${NAME} and ${NAME:default} in values are filled in from the environment. The result is text, whatever it looks like,
as if the variable of the setting itself had been used: a password may be `no` or `abc #1`. Only where a list or a
mapping is expected may it be one in YAML's brackets. Nothing here knows bounds; unknown names are reported with the
nearest known one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.config.given_value import GivenValue, Problems
from penstock.config.references import NAMES, canonical
from penstock.config.settings import MAPPINGS, Settings, keys
from penstock.config.shown_value import is_secret

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}")
_NOTHING = ("", "null", "~")
"""Defaults of a placeholder that leave a setting as if it were not there."""
_QUOTED = re.compile(r"'[^']{2,}'|\"[^\"]{2,}\"")
LISTENER_NAME = "listener.name."
OVERRIDES = "listeners.overrides"
_ASSIGNMENT = re.compile(r"([A-Za-z_][\w.-]*)\s*=\s*(.*)")


def from_file(path: Path, environ: Mapping[str, str], problems: Problems) -> list[GivenValue]:
    """Everything in a file, weakest first: our own names win over those of other systems, whatever their order."""
    tree = _read(path, problems)
    if not isinstance(tree, dict):
        if tree is not None:
            problems.append(f"{path}: expected sections such as kafka: and storage:, not a {type(tree).__name__}")
        return []
    known = _KnownNames()
    given = known.values_below("", _Placeholders(environ, path, problems).filled_in("", tree), path, problems)
    return sorted(given, key=lambda item: item.key in known.own or item.key not in NAMES)


class _KnownNames:
    """The known names, and the sections among them."""

    def __init__(self) -> None:
        self.own = frozenset(keys())
        names = [*self.own, *NAMES]
        self._sections = {
            ".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 1)
        }
        self._all = sorted({*self.own, *NAMES.values(), *self._sections})

    def values_below(
        self, section: str, branch: Mapping[Any, Any], path: Path, problems: Problems
    ) -> Iterator[GivenValue]:
        for name, value in branch.items():
            yield from self._values(f"{section}.{name}" if section else str(name), value, path, problems)

    def _values(self, name: str, value: object, path: Path, problems: Problems) -> Iterator[GivenValue]:
        key = canonical(name)
        if key.startswith(LISTENER_NAME):  # Kafka's listener.name.external.ssl.client.auth
            yield from _mapping_values(f"{OVERRIDES}.{name[len(LISTENER_NAME) :]}", value, str(path))
            return
        mapping = next((each for each in MAPPINGS if f"{key}.".startswith(f"{each}.")), None)
        if mapping is not None:
            yield from _mapping_values(mapping + name[len(mapping) :], value, str(path))
        elif isinstance(value, dict) and key in self._sections:
            yield from self.values_below(name, value, path, problems)
        elif key in self.own or key in NAMES:
            if value is not None:
                yield GivenValue(key, value, str(path) if key in self.own else f"{path}, {NAMES[key]}")
        elif key not in self._sections:
            problems.unknown(name, str(path), self._all)
        elif value is not None:
            problems.append(f"{path}: {name} is a section, write its settings below it")


def _mapping_values(key: str, value: object, origin: str) -> Iterator[GivenValue]:
    """The values of a mapping, which is merged name by name, so that two sources can each set a part of it."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _mapping_values(f"{key}.{name}", item, origin)
    elif value is not None or key not in MAPPINGS:
        yield GivenValue(key, value, origin)


def _read(path: Path, problems: Problems) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        assigned = _assignments(text)
        return yaml.load(text, Loader=_UniqueKeyLoader) if assigned is None else assigned
    except FileNotFoundError:
        problems.append(f"{path}: no such file; name an existing one with --config")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: cannot be read: {error}")
    except yaml.YAMLError as error:
        problems.append(f"{path}: not valid YAML: {_reason(error)}")
    return None


def _assignments(text: str) -> dict[str, Any] | None:
    """The values of a file whose every line is `name = value`; None if it is another kind of file."""
    lines = [line.strip() for line in text.splitlines()]
    matches = [_ASSIGNMENT.fullmatch(line) for line in lines if line and not line.startswith("#")]
    values: dict[str, Any] = {}
    for match in matches:
        if match is None:
            return None
        if match[1] in values:
            raise yaml.YAMLError(f"{match[1]} is given twice")
        secret = is_secret(canonical(match[1]))
        values[match[1]] = match[2] if secret else yaml.load(match[2], Loader=_UniqueKeyLoader)
    return values or None


def _reason(error: yaml.YAMLError) -> str:
    """The reason and the place, without the line itself and words of it: they may be a secret."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    reason = _QUOTED.sub("…", error.problem or error.context or "")
    return f"{reason}{place}"


class _UniqueKeyLoader(yaml.SafeLoader):
    """A loader that refuses repeated keys: YAML silently replaces the earlier one, which is a mistake in settings."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a name is a single word", key_node.start_mark)
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key_node.value} is given twice", key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


class _Placeholders:
    """The variables of one file."""

    def __init__(self, environ: Mapping[str, str], path: Path, problems: Problems) -> None:
        self._environ = environ
        self._path = path
        self._problems = problems

    def filled_in(self, key: str, value: Any) -> Any:
        """A value with its placeholders replaced; `key` is its dotted name."""
        if isinstance(value, dict):
            return {name: self.filled_in(f"{key}.{name}" if key else str(name), item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.filled_in(key, item) for item in value]
        if not isinstance(value, str) or "${" not in value:
            return value
        alone = _PLACEHOLDER.fullmatch(value)
        if alone is not None and not self._environ.get(alone[1]) and alone[2] in _NOTHING:
            return None
        text = _PLACEHOLDER.sub(self._replacement, value)
        return _bracketed(text) if canonical(key) in _collections() else text or None

    def _replacement(self, match: re.Match[str]) -> str:
        text = self._environ.get(match[1]) or match[2]
        if text is None:
            self._problems.append(f"{self._path}: {match[0]} has no default and {match[1]} is not set")
        return text or ""


def _collections() -> frozenset[str]:
    """The settings that are lists or mappings."""
    return frozenset(
        f"{section}.{name}"
        for section, branch in Settings.model_fields.items()
        for name, value in branch.default
        if isinstance(value, tuple | list | dict)
    )


def _bracketed(text: str) -> object:
    """A list or a mapping, if it is written as one."""
    if not text.startswith(("[", "{")):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text
