"""Settings from all sources at once, and for each the place it came from.

The first source that gives a value wins:

    1. flags of the command line
    2. PENSTOCK_SECTION__NAME in the environment
    3. NODE_ID, DATA_DIR, BROKER_PORT, HTTP_PORT, REGISTRY_URL in the environment; below them the QB_ variables
    4. the file (`--config`, or PENSTOCK_CONFIG); in it our own names win over those of other systems
    5. the default

The problems of all sources are collected into one `ConfigError`. Two sources that give different values are a warning
that names both; two flags that do are an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from penstock.config.environment import from_environment, from_reference_environment
from penstock.config.given_value import GivenValue, Problems
from penstock.config.references import Ignored, resolved
from penstock.config.settings import MAPPINGS, Settings, keys, parse_pairs
from penstock.config.settings.secret import ENVIRON, HIDDEN, is_reference
from penstock.config.settings_writers import decides_on_security, writers_problem
from penstock.config.shown_value import secret_keys, shown, tells_secret
from penstock.config.topic_configs import TOPIC_CONFIGS


class ConfigError(Exception):
    """The settings cannot be used; `problems` has one sentence for each problem."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, and the origin of every key ('default' if it was not given)."""

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    """Values that were overridden by another source, or that have no effect."""
    ignored: tuple[Ignored, ...] = ()
    """Names of other systems that have no effect here, including those expected to have none."""
    mistrust: str | None = None
    """Why no process may be run with the file: others can write it, and it decides who gets in."""


def load_settings(
    config_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Iterable[GivenValue] = (),
) -> Settings:
    return load(config_file, environ, flags).settings


def load(
    config_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Iterable[GivenValue] = (),
) -> Loaded:
    """Read every source; `environ` defaults to the process's own. Raises ConfigError."""
    environ = os.environ if environ is None else environ
    if config_file is None and environ.get("PENSTOCK_CONFIG"):
        config_file = Path(environ["PENSTOCK_CONFIG"])
    problems = Problems()
    ignored: list[Ignored] = []
    weaker = _from_file(config_file, environ, problems) if config_file is not None else []
    weaker += [*from_reference_environment(environ), *from_environment(environ, problems)]
    weaker = list(_single_items(resolved(weaker, problems, ignored), problems))
    on_command_line = list(_single_items(resolved(flags, problems, ignored), problems))
    problems.extend(_contradictions(on_command_line))
    given = weaker + on_command_line
    tree, origins = _merge(given)
    _drop_unknown_topic_configs(tree, origins, problems)
    try:
        settings = Settings.model_validate(tree, context={ENVIRON: environ})
    except ValidationError as error:
        problems.extend(_explain(error, origins))
    if problems:
        raise ConfigError(problems)
    if settings.node.name is not None and "node.name" not in origins:
        origins["node.name"] = origins["node.id"]  # a name given as the id is both
    warnings = [*_disagreements(given), *_visible_secrets(tree, origins, config_file)]
    warnings += [str(each) for each in ignored if not each.expected]
    mistrust = None if config_file is None else writers_problem(config_file)
    if mistrust is not None and not decides_on_security(_keys_from(config_file, given)):
        warnings.append(mistrust)
        mistrust = None
    found = {key: origins.get(key, "default") for key in keys()}
    return Loaded(settings, found, tuple(warnings), tuple(ignored), mistrust)


def _keys_from(config_file: Path | None, given: Iterable[GivenValue]) -> Iterator[str]:
    """The settings that the file has, also under names of other systems and where another source wins."""
    for item in given:
        if item.origin == str(config_file) or item.origin.startswith(f"{config_file}, "):
            yield item.key


def _single_items(given: Iterable[GivenValue], problems: Problems) -> Iterator[GivenValue]:
    """A mapping as one value for each of its names, so that each has an origin and a winner of its own."""
    for item in given:
        if item.key not in MAPPINGS:
            yield item
            continue
        try:
            items = parse_pairs(item.value)
        except ValueError as error:
            problems.append(f"{item.origin}: {item.key}: {error}")
            continue
        if not isinstance(items, dict):
            problems.append(f"{item.origin}: {item.key} maps names to values, not {shown(item.key, item.value)!r}")
            continue
        yield from (GivenValue(f"{item.key}.{name}", value, item.origin) for name, value in items.items())


def _by_key(given: Iterable[GivenValue]) -> dict[str, list[GivenValue]]:
    by_key: dict[str, list[GivenValue]] = {}
    for item in given:
        by_key.setdefault(item.key, []).append(item)
    return by_key


def _contradictions(flags: Sequence[GivenValue]) -> Iterator[str]:
    """Report flags that contradict each other, as in --port 1 --kafka-port 2."""
    for key, (first, *others) in _by_key(flags).items():
        for other in others:
            if _meaning(other) != _meaning(first):
                yield (
                    f"{key} is {shown(key, first.value)} by {first.origin}, but {shown(key, other.value)} by"
                    f" {other.origin}; give one of them"
                )


def _disagreements(given: Iterable[GivenValue]) -> Iterator[str]:
    """One sentence for each value that lost against a different one."""
    for key, (*losers, winner) in _by_key(given).items():
        for loser in losers:
            if _meaning(loser) != _meaning(winner):
                yield (
                    f"{key} is {shown(key, winner.value)} by {winner.origin}; {loser.origin} says"
                    f" {shown(key, loser.value)},"
                    " which does not count"
                )


def _visible_secrets(
    tree: Mapping[str, Mapping[str, Any]], origins: Mapping[str, str], config_file: Path | None
) -> Iterator[str]:
    """One sentence for each secret that is written where others can read it."""
    for key in sorted(secret_keys() & origins.keys()):
        section, _, name = key.partition(".")
        if not _is_written_out(key, tree[section][name]):
            continue
        if origins[key].startswith("command line"):
            yield f"{key} is on the command line, which every user of this machine can read; use file:PATH or env:NAME"
        elif config_file is not None and origins[key].startswith(str(config_file)) and _is_shared(config_file):
            yield f"{key} is in {config_file}, which other users can read; run: chmod 600 {config_file}"


def _is_written_out(key: str, value: object) -> bool:
    """Whether a secret itself is given, or one in a mapping, and not the name of a file or variable."""
    if isinstance(value, Mapping):
        # Names in a mapping of Kafka's tell which are secrets; those of options of other packages need not.
        return any(
            (key not in MAPPINGS or tells_secret(str(name))) and not is_reference(each) for name, each in value.items()
        )
    return not is_reference(value)


def _is_shared(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _meaning(given: GivenValue) -> object:
    """The meaning of a value: 9092 and '9092' are the same port, 1 GiB and 1073741824 the same size."""
    section, name, value = _place(given)
    try:
        return type(Settings.model_fields[section].default).model_validate({name: value})
    except ValidationError:
        return str(given.value)


def _place(given: GivenValue) -> tuple[str, str, object]:
    """Section, name and value; for an item of a mapping, the value is a mapping with that item."""
    mapping = next((name for name in MAPPINGS if given.key.startswith(f"{name}.")), None)
    section, _, name = (mapping or given.key).partition(".")
    return section, name, given.value if mapping is None else {given.key.removeprefix(f"{mapping}."): given.value}


def _merge(given: Iterable[GivenValue]) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Merge values, weakest first: later values replace earlier ones, mappings name by name."""
    tree: dict[str, dict[str, Any]] = {}
    origins: dict[str, str] = {}
    for item in given:
        section, name, value = _place(item)
        key = f"{section}.{name}"
        branch = tree.setdefault(section, {})
        if key not in MAPPINGS:
            branch[name], origins[key] = value, item.origin
            continue
        branch.setdefault(name, {}).update(value)
        if item.origin not in origins.get(key, ""):
            origins[key] = f"{origins[key]}; {item.origin}" if key in origins else item.origin
    return tree, origins


def _drop_unknown_topic_configs(
    tree: Mapping[str, dict[str, Any]], origins: Mapping[str, str], problems: Problems
) -> None:
    """Report unknown topic configs, with a suggestion for a misspelt one; values are checked with the tree."""
    defaults = tree.get("topics", {}).get("defaults", {})
    for name in [name for name in defaults if name not in TOPIC_CONFIGS]:
        problems.unknown(name, f"{origins['topics.defaults']}, topics.defaults", TOPIC_CONFIGS)
        del defaults[name]


def _explain(error: ValidationError, origins: Mapping[str, str]) -> list[str]:
    """Pydantic's findings as sentences: the origin of the value, its key, the value, and what is allowed."""
    sentences = []
    for finding in error.errors(include_url=False):
        location = [str(part) for part in finding["loc"]]
        key = ".".join(location[:2])
        name = ".".join(location)
        reason = finding["msg"].removeprefix("Value error, ").replace("Input should be", "should be")
        if len(location) < 2:  # about several settings, which the reason names
            sentences.append(": ".join((*location, reason)))
        else:
            origin = origins.get(key, "settings")
            value = shown(key, finding["input"])
            subject = name if value == HIDDEN else f"{name} is {value!r}, but"
            sentences.append(f"{origin}: {subject} {reason[:1].lower()}{reason[1:]}")
    return sentences


def _from_file(path: Path, environ: Mapping[str, str], problems: Problems) -> list[GivenValue]:
    from penstock.config.settings_file import from_file  # with PyYAML: 3 MB that a node without a file saves

    return from_file(path, environ, problems)
