"""Steps about configs: describe, alter, alter incrementally; one resource each."""

from collections.abc import Mapping, Sequence

from tests.differential.peer import Answer, Peer

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

Change = tuple[str, int, str | None]


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
    return peer.ask("alter_configs", version, body, label=_label(configs, validate))


def change(
    peer: Peer, kind: int, name: str, changes: Sequence[Change], *, version: int = 1, validate: bool = False
) -> Answer:
    """IncrementalAlterConfigs of one resource."""
    rows = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
    body = {"resources": [{"resource_type": kind, "resource_name": name, "configs": rows}], "validate_only": validate}
    names = {SET: "set", DELETE: "delete", APPEND: "append", SUBTRACT: "subtract"}
    told = {f"{names.get(operation, operation)} {key}": value for key, operation, value in changes}
    return peer.ask("incremental_alter_configs", version, body, label=_label(told, validate))


def _label(configs: Mapping[str, str | None], validate: bool) -> str:
    told = ", ".join(f"{key}={value}" for key, value in configs.items())
    return f"{'validate ' * validate}{told}"[:100]
