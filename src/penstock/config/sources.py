"""Where settings come from: each source becomes a list of `Given` values under the dotted names of the tree.

    flags           a mapping that the command line fills in
    PENSTOCK_…      PENSTOCK_KAFKA__PORT=9092: section and name, two underscores between them
    reference names NODE_ID, DATA_DIR, BROKER_PORT, HTTP_PORT, REGISTRY_URL, and the QB_ ones (`message_broker`)
    file            YAML in the shape of the tree, or the provider's application.yml (all under `broker:`), or the
                    message broker's keys (server.port, storage.fsync_on_write, …), nested or with dots;
                    ${NAME} and ${NAME:default} in its values are filled in from the environment

Nothing here knows types or bounds; unknown names are reported with the nearest known one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from penstock.config import message_broker
from penstock.config.settings import MAPPINGS, Settings, keys

PREFIX = "PENSTOCK_"
# Read by the loader, by the client commands, by this project's tests and by `runtime.pauses`.
NOT_SETTINGS = frozenset(
    {"PENSTOCK_CONFIG", "PENSTOCK_BOOTSTRAP_SERVER", "PENSTOCK_KAFKA_JARS", "PENSTOCK_PAUSE_AT", "PENSTOCK_URL"}
)
TEST_PREFIX = "PENSTOCK_TEST_"
# What Kubernetes sets in every container for a service whose name begins with penstock.
_SERVICE_VARIABLE = re.compile(
    r"PENSTOCK_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")
# Weakest first: where two of them set the same, the later one wins.
REFERENCE_VARIABLES = {
    **message_broker.VARIABLES,
    "NODE_ID": "node.id",
    "DATA_DIR": "node.data_dir",
    "BROKER_PORT": "kafka.port",
    "HTTP_PORT": "http.port",
    "REGISTRY_URL": "registry.url",
}
PROVIDER_KEYS = {
    "broker.node.id": "node.id",
    "broker.storage.type": "storage.engine",
    "broker.storage.data-dir": "node.data_dir",
    "broker.storage.segment-size": "topics.defaults.segment.bytes",
    "broker.network.port": "kafka.port",
    "broker.network.type": "network.type",
    "broker.registry.url": "registry.url",
    "broker.registry.poll-interval": "registry.poll_interval_ms",
    "broker.pipe.poll-interval": "pipe.poll_interval_ms",
    "broker.pipe.batch-size": "pipe.batch_size",
}
# Understood, and without effect here: networks that need no thread counts, and no parent to follow.
PROVIDER_IDLE_KEYS = frozenset(
    {
        "broker.network.threads.boss",
        "broker.network.threads.worker",
    }
)
# May stand at the top of a file, too.
TOP_LEVEL_KEYS = {"test_endpoints": "http.test_endpoints", "test_data_dir": "http.test_data_dir"}
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}")


class Given(NamedTuple):
    """One value as somebody gave it, and where: 'kafka.port', '9093', 'environment variable BROKER_PORT'."""

    key: str
    value: object
    origin: str


class Problems(list[str]):
    """What is wrong, one sentence each; a user sees all of it at once."""

    def unknown(self, name: str, origin: str, known: Iterable[str]) -> None:
        close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
        hint = f"did you mean {close[0]}?" if close else "`penstock config show` lists every setting"
        self.append(f"{origin}: unknown setting {name}; {hint}")


def from_flags(flags: Mapping[str, object]) -> Iterator[Given]:
    """Flags are named by our own code; None means not given."""
    for key, value in flags.items():
        if value is not None:
            yield Given(key, value, "command line")


def from_environment(environ: Mapping[str, str], problems: Problems) -> Iterator[Given]:
    """PENSTOCK_SECTION__NAME. An empty variable counts as not set."""
    variables = {variable_name(key): key for key in keys()}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in NOT_SETTINGS or name.startswith(TEST_PREFIX) or not environ[name]:
            continue
        if name in variables:
            yield Given(variables[name], environ[name], f"environment variable {name}")
        elif not _is_of_kubernetes(name, environ[name]):
            _unknown_variable(name, variables, problems)


def variable_name(key: str) -> str:
    return PREFIX + key.upper().replace(".", "__")


def _is_of_kubernetes(name: str, value: str) -> bool:
    """PENSTOCK_KAFKA_PORT is a typing error, unless it is what Kubernetes sets for a service of that name."""
    if name.endswith("_PORT") and _SERVICE_ADDRESS.match(value):
        return True
    return _SERVICE_VARIABLE.fullmatch(name) is not None


def _unknown_variable(name: str, variables: Iterable[str], problems: Problems) -> None:
    meant = {_bare(variable): variable for variable in variables}
    bare = _bare(name)
    if bare in meant:
        problems.append(f"environment variable {name}: write two underscores between section and name: {meant[bare]}")
        return
    close = difflib.get_close_matches(bare, list(meant), n=1, cutoff=0.6)
    hint = f"did you mean {meant[close[0]]}?" if close else "`penstock config show --explain` lists every variable"
    problems.append(f"environment variable {name}: unknown setting; {hint}")


def _bare(variable: str) -> str:
    """Without the prefix, which would make all of them similar, and the number of underscores."""
    return variable.removeprefix(PREFIX).replace("__", "_")


def from_reference_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    for name, key in REFERENCE_VARIABLES.items():
        if environ.get(name):
            yield Given(key, environ[name], f"environment variable {name}")


def from_file(path: Path, environ: Mapping[str, str], problems: Problems) -> Iterator[Given]:
    """Everything in a YAML file, with unknown names reported."""
    tree = _read_yaml(path, problems)
    if not isinstance(tree, dict):
        if tree is not None:
            problems.append(f"{path}: expected sections such as kafka: and storage:, not a {type(tree).__name__}")
        return
    tree = _fill_in(tree, environ, path, problems)
    provider = tree.pop("broker", None)
    if provider is not None:
        yield from _provider_values(path, provider, problems)
    for section, branch in _nested(tree).items():
        yield from _section_values(path, str(section), branch, problems)


def _read_yaml(path: Path, problems: Problems) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except FileNotFoundError:
        problems.append(f"{path}: no such file; name an existing one with --config")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: cannot be read: {error}")
    except yaml.YAMLError as error:
        problems.append(f"{path}: not valid YAML: {' '.join(str(error).split())}")
    return None


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML lets a later key silently replace an earlier one; in a settings file that is a mistake."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if key_node.value in seen and isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key_node.value} is given twice", key_node.start_mark
                )
            seen.add(str(key_node.value))
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


def _nested(tree: Mapping[Any, Any]) -> dict[Any, Any]:
    """The message broker's keys may stand with their dots at the left: server.port is port below server."""
    nested: dict[Any, Any] = {}
    for name, value in tree.items():
        section, _, rest = str(name).partition(".")
        if str(name) in message_broker.KEYS and isinstance(nested.setdefault(section, {}), dict):
            nested[section][rest] = value
        elif isinstance(value, dict) and isinstance(nested.get(name), dict):
            nested[name] = {**nested[name], **value}
        else:
            nested[name] = value
    return nested


def _section_values(path: Path, section: str, branch: object, problems: Problems) -> Iterator[Given]:
    if section.replace("-", "_") in TOP_LEVEL_KEYS:
        if branch is not None:
            yield Given(TOP_LEVEL_KEYS[section.replace("-", "_")], branch, str(path))
        return
    if section not in Settings.model_fields and section not in message_broker.SECTIONS:
        problems.unknown(section, str(path), [*Settings.model_fields, *keys()])
        return
    if branch is None:
        return
    if not isinstance(branch, dict):
        problems.append(f"{path}: {section} is a section, write its settings below it")
        return
    known = keys()
    for name, value in branch.items():
        key = f"{section}.{str(name).replace('-', '_')}"
        translation = message_broker.KEYS.get(key)
        if translation is not None and value is not None:
            yield Given(translation.setting, translation.value(value), f"{path}, {key}")
        elif translation is None and key not in known:
            problems.unknown(key, str(path), [*known, *message_broker.KEYS])
        elif translation is None and value is not None:
            yield from _mapping_values(key, value, str(path))


def _mapping_values(key: str, value: object, origin: str) -> Iterator[Given]:
    """A mapping is merged name by name, so that two sources can each set some of it."""
    if key in MAPPINGS and isinstance(value, dict):
        for name, item in _flatten("", value):
            yield Given(f"{key}.{name}", item, origin)
    else:
        yield Given(key, value, origin)


def _provider_values(path: Path, branch: object, problems: Problems) -> Iterator[Given]:
    """The keys of the provider's application.yml that mean something to a node."""
    if not isinstance(branch, dict):
        problems.append(f"{path}: broker is a section, write its settings below it")
        return
    for key, value in _flatten("broker", branch):
        name = key.replace("_", "-")
        if name in PROVIDER_KEYS:
            yield Given(PROVIDER_KEYS[name], value, f"{path}, {name}")
        elif name not in PROVIDER_IDLE_KEYS:
            problems.unknown(name, str(path), [*PROVIDER_KEYS, *PROVIDER_IDLE_KEYS])


def _flatten(prefix: str, tree: Mapping[Any, Any]) -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        key = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, dict):
            yield from _flatten(key, value)
        else:
            yield key, value
