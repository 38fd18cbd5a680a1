"""A file of settings, as `GivenValue` values under the names in the file.

Three shapes, and mixtures of them; names of other systems (`references`) may appear in all of them:

    YAML              kafka:
                        port: 9092
    YAML with dots    kafka.port: 9092
    assignments       kafka.port = 9092

${NAME} and ${NAME:default} in values are filled in from the environment. Nothing here knows types or bounds; unknown
names are reported with the nearest known one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.config.given_value import GivenValue, Problems
from penstock.config.references import NAMES, canonical
from penstock.config.settings import MAPPINGS, keys

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}")
_ASSIGNMENT = re.compile(r"([A-Za-z_][\w.-]*)\s*=\s*(.*)")


def from_file(path: Path, environ: Mapping[str, str], problems: Problems) -> list[GivenValue]:
    """Everything in a file, weakest first: our own names win over those of other systems, whatever their order."""
    tree = _read(path, problems)
    if not isinstance(tree, dict):
        if tree is not None:
            problems.append(f"{path}: expected sections such as kafka: and storage:, not a {type(tree).__name__}")
        return []
    known = _KnownNames()
    given = known.values_below("", _fill_in(tree, environ, path, problems), path, problems)
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
        problems.append(f"{path}: not valid YAML: {' '.join(str(error).split())}")
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
        values[match[1]] = yaml.load(match[2], Loader=_UniqueKeyLoader)
    return values or None


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


def _fill_in(value: Any, environ: Mapping[str, str], path: Path, problems: Problems) -> Any:
    """Replace ${NAME:default}; the result is read as YAML again, so that ${PORT:9092} is a number."""
    if isinstance(value, dict):
        return {key: _fill_in(item, environ, path, problems) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill_in(item, environ, path, problems) for item in value]
    if not isinstance(value, str) or "${" not in value:
        return value

    def replace(match: re.Match[str]) -> str:
        text = environ.get(match[1]) or match[2]
        if text is None:
            problems.append(f"{path}: {match[0]} has no default and {match[1]} is not set")
        return text or ""

    text = _PLACEHOLDER.sub(replace, value)
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text
