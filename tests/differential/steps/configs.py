"""Steps about configs: describe, alter, alter incrementally; one resource each."""

import itertools
import time
from collections.abc import Mapping, Sequence

from tests.differential.peer import Answer, Peer

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

Change = tuple[str, int, str | None]

SETTLED_WITHIN_S = 20.0

_numbers = itertools.count()


def describe_configs(
    peer: Peer,
    kind: int,
    name: str,
    keys: Sequence[str] | None,
    *,
    version: int = 4,
    synonyms: bool = True,
    documentation: bool = False,
    label: str = "",
) -> Answer:
    wanted = None if keys is None else list(keys)
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": wanted}
    body = {"resources": [resource], "include_synonyms": synonyms, "include_documentation": documentation}
    return peer.ask("describe_configs", version, body, label=label)


def alter(
    peer: Peer, kind: int, name: str, configs: Mapping[str, str | None], *, version: int = 2, validate: bool = False
) -> Answer:
    """AlterConfigs: replaces everything that is set."""
    rows = [{"name": key, "value": value} for key, value in configs.items()]
    body = {"resources": [{"resource_type": kind, "resource_name": name, "configs": rows}], "validate_only": validate}
    answer = peer.ask("alter_configs", version, body, label=_label(configs, validate))
    return answer if validate else _settled(peer, answer)


def change(
    peer: Peer, kind: int, name: str, changes: Sequence[Change], *, version: int = 1, validate: bool = False
) -> Answer:
    """IncrementalAlterConfigs of one resource."""
    rows = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
    body = {"resources": [{"resource_type": kind, "resource_name": name, "configs": rows}], "validate_only": validate}
    names = {SET: "set", DELETE: "delete", APPEND: "append", SUBTRACT: "subtract"}
    told = {f"{names.get(operation, operation)} {key}": value for key, operation, value in changes}
    answer = peer.ask("incremental_alter_configs", version, body, label=_label(told, validate))
    return answer if validate else _settled(peer, answer)


def _settled(peer: Peer, answer: Answer) -> Answer:
    """Wait until the change can be seen: Kafka's controller answers before its brokers know.

    Changes are seen in order, so that a second one, to a group that nobody uses, tells about the first.
    """
    if not any(row["error_code"] == 0 for row in answer.get("responses", [])):
        return answer
    name, value = "consumer.session.timeout.ms", str(46_000 + next(_numbers) % 10_000)
    row = {"name": name, "config_operation": SET, "value": value}
    marker = {"resource_type": GROUP, "resource_name": peer.name("marker")}
    body = {"resources": [marker | {"configs": [row]}], "validate_only": False}
    told = peer.quietly("incremental_alter_configs", 1, body)
    assert told["responses"][0]["error_code"] == 0, told
    asked = {"resources": [marker | {"configuration_keys": [name]}], "include_synonyms": False}
    deadline = time.monotonic() + SETTLED_WITHIN_S
    while time.monotonic() < deadline:
        seen = peer.quietly("describe_configs", 4, asked)
        if seen["results"][0]["configs"][0]["value"] == value:
            return answer
        time.sleep(0.005)
    raise AssertionError(f"{peer.kind} does not show what was changed")


def _label(configs: Mapping[str, str | None], validate: bool) -> str:
    told = ", ".join(f"{key}={value}" for key, value in configs.items())
    return f"{'validate ' * validate}{told}"[:100]
