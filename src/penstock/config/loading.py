"""Settings from all sources at once, and for each the place it came from.

The first source that gives a value wins:

    1. flags of the command line
    2. PENSTOCK_SECTION__NAME in the environment
    3. NODE_ID, DATA_DIR, BROKER_PORT, HTTP_PORT, REGISTRY_URL in the environment; below them the QB_ variables
    4. the YAML file (`--config`, or PENSTOCK_CONFIG)
    5. the default

Everything that is wrong, in whichever source, is collected into one `ConfigError`. Two sources that give different
values are a warning that names both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from penstock.config import sources
from penstock.config.settings import MAPPINGS, Settings, keys, parse_pairs
from penstock.config.sources import Given, Problems
from penstock.config.topic_configs import TOPIC_CONFIGS


class ConfigError(Exception):
    """The settings cannot be used; `problems` has one sentence for each thing to mend."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and the origin of every key ('default' if nobody gave it)."""

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    """Values that did not count because another source says something else."""


def load_settings(
    config_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Settings:
    return load(config_file, environ, flags).settings


def load(
    config_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """Read every source; `environ` defaults to the process's own. Raises ConfigError."""
    environ = os.environ if environ is None else environ
    if config_file is None and environ.get("PENSTOCK_CONFIG"):
        config_file = Path(environ["PENSTOCK_CONFIG"])
    problems = Problems()
    given: list[Given] = []
    if config_file is not None:
        given += sources.from_file(config_file, environ, problems)
    given += sources.from_reference_environment(environ)
    given += sources.from_environment(environ, problems)
    given += sources.from_flags(flags or {})
    tree, origins = _merge(given, problems)
    _drop_unknown_topic_configs(tree, origins, problems)
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        problems.extend(_explain(error, origins))
    if problems:
        raise ConfigError(problems)
    if settings.node.name is not None:
        origins.setdefault("node.name", origins["node.id"])  # a name given as the id is both
    return Loaded(settings, {key: origins.get(key, "default") for key in keys()}, tuple(_disagreements(given)))


def _disagreements(given: Iterable[Given]) -> Iterator[str]:
    """One sentence for each value that lost against a different one."""
    by_key: dict[str, list[Given]] = {}
    for item in given:
        by_key.setdefault(item.key, []).append(item)
    for key, items in by_key.items():
        *losers, winner = items
        for loser in losers:
            if key not in MAPPINGS and _meaning(loser) != _meaning(winner):
                yield (
                    f"{key} is {winner.value} by {winner.origin}; {loser.origin} says {loser.value},"
                    " which does not count"
                )


def _meaning(given: Given) -> object:
    """9092 and '9092' are the same port, 1 GiB and 1073741824 the same size."""
    section, _, name = given.key.partition(".")
    try:
        return type(Settings.model_fields[section].default).model_validate({name: given.value})
    except ValidationError:
        return str(given.value)


def _merge(given: Iterable[Given], problems: Problems) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Weakest first: later values replace earlier ones, mappings name by name."""
    tree: dict[str, dict[str, Any]] = {}
    origins: dict[str, str] = {}
    for key, value, origin in given:
        mapping = next((name for name in MAPPINGS if key == name or key.startswith(name + ".")), None)
        section, _, name = (mapping or key).partition(".")
        branch = tree.setdefault(section, {})
        if mapping is None:
            branch[name] = value
            origins[key] = origin
            continue
        try:
            items = parse_pairs(value) if key == mapping else {key.removeprefix(mapping + "."): value}
        except ValueError as error:
            problems.append(f"{origin}: {mapping}: {error}")
            continue
        if not isinstance(items, dict):
            problems.append(f"{origin}: {mapping} maps names to values, not {value!r}")
            continue
        branch.setdefault(name, {}).update(items)
        if origin not in origins.get(mapping, ""):
            origins[mapping] = f"{origins[mapping]}; {origin}" if mapping in origins else origin
    return tree, origins


def _drop_unknown_topic_configs(
    tree: Mapping[str, dict[str, Any]], origins: Mapping[str, str], problems: Problems
) -> None:
    """A misspelt topic config gets a suggestion here; values are checked with the tree."""
    defaults = tree.get("topics", {}).get("defaults", {})
    for name in [name for name in defaults if name not in TOPIC_CONFIGS]:
        problems.unknown(name, f"{origins['topics.defaults']}, topics.defaults", TOPIC_CONFIGS)
        del defaults[name]


def _explain(error: ValidationError, origins: Mapping[str, str]) -> list[str]:
    """Pydantic's findings in our words: where the value came from, which key, what it was, what may be."""
    sentences = []
    for finding in error.errors(include_url=False):
        location = [str(part) for part in finding["loc"]]
        key = ".".join(location[:2])
        name = ".".join(location)
        reason = finding["msg"].removeprefix("Value error, ").replace("Input should be", "should be")
        if not location:
            sentences.append(reason)
        else:
            origin = origins.get(key, "settings")
            sentences.append(f"{origin}: {name} is {finding['input']!r}, but {reason[:1].lower()}{reason[1:]}")
    return sentences
