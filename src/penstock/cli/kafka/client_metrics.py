"""`penstock client-metrics`: which metrics clients push to the broker (KIP-714).

librdkafka has neither the resource nor the request that lists it, so these commands send the requests themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer, connect
from penstock.cli.kafka.topic import ChangeOutput, OutputOption, report_deletions
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.cli.terminal.rights import Resource, Right, refusal

if TYPE_CHECKING:
    from penstock.cli.kafka.kafka_connection import KafkaConnection

RESOURCE_TYPE = 16
SET, DELETE = 0, 1
DEFAULT_SOURCE = 5

app = typer.Typer(no_args_is_help=True, help="Choose the metrics that clients push, to be scraped at /metrics.")

Name = Annotated[str, typer.Argument(metavar="SUBSCRIPTION")]
Names = Annotated[list[str], typer.Argument(metavar="SUBSCRIPTION...")]


@app.command("list")
def list_subscriptions(output: OutputOption = Output.TABLE, bootstrap_server: BootstrapServer = DEFAULT_SERVER) -> None:
    """List subscriptions."""
    with _connection(bootstrap_server) as connection:
        rows = [{"subscription": name, **_configs(connection, name)} for name in _names(connection)]
    if output is Output.JSON:
        print_json(rows)
    elif rows:
        columns = ["subscription", "metrics", "interval.ms", "match"]
        print_table(columns, [[row[column] for column in columns] for row in rows])
    else:
        note("no subscriptions yet; create one with `penstock client-metrics set NAME --metrics '*'`")


@app.command()
def describe(
    names: Names, output: OutputOption = Output.TABLE, bootstrap_server: BootstrapServer = DEFAULT_SERVER
) -> None:
    """Show the configs of subscriptions, and where they come from."""
    with _connection(bootstrap_server) as connection:
        _check_names(connection, names)
        described: list[dict[str, Any]] = [
            {"subscription": name, "configs": _described(connection, name)} for name in dict.fromkeys(names)
        ]
    if output is Output.JSON:
        print_json(described)
        return
    for each in described:
        rows = [(config["name"], config["value"], config["source"]) for config in each["configs"]]
        print_table(["config", "value", "source"], rows, title=each["subscription"])


@app.command("set")
def set_subscription(
    name: Name,
    metrics: Annotated[
        str | None,
        typer.Option("--metrics", "-m", metavar="PREFIX,…", help="Prefixes of metric names; '*' for all."),
    ] = None,
    interval_ms: Annotated[
        int | None, typer.Option("--interval-ms", "-i", help="Time between two pushes; default 300000.")
    ] = None,
    match: Annotated[
        list[str] | None,
        typer.Option(
            "--match",
            metavar="SELECTOR=PATTERN",
            help="Only clients that match: client_id, client_instance_id, client_software_name,"
            " client_software_version, client_source_address or client_source_port. If repeated, all must match.",
        ),
    ] = None,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Create a subscription, or change the given configs of it."""
    changes: dict[str, str] = {}
    if metrics is not None:
        changes["metrics"] = metrics
    if interval_ms is not None:
        changes["interval.ms"] = str(interval_ms)
    if match is not None:
        changes["match"] = ",".join(match)
    if not changes:
        raise CommandError("nothing to set", ExitCode.USAGE, hint="give --metrics, --interval-ms or --match")
    with _connection(bootstrap_server) as connection:
        _alter(connection, name, changes)
    if output is Output.JSON:
        print_json({"subscription": name, "set": changes})
    else:
        note(f"subscription {name} set; clients follow at their next connection or push")


@app.command()
def delete(
    names: Names, output: ChangeOutput = Output.TABLE, bootstrap_server: BootstrapServer = DEFAULT_SERVER
) -> None:
    """Delete subscriptions; clients stop pushing these metrics."""
    failures: dict[str, CommandError] = {}
    wanted = list(dict.fromkeys(names))
    with _connection(bootstrap_server) as connection:
        known = _names(connection)
        for name in wanted:
            if name not in known:
                failures[name] = _unknown(name, known)
                continue
            configs = _described(connection, name)
            _alter(connection, name, {c["name"]: None for c in configs if c["source"] != "default"})
    report_deletions("subscription", wanted, failures, output)


def _connection(bootstrap: str) -> KafkaConnection:
    from penstock.cli.kafka.kafka_connection import open_connection

    return open_connection(connect(bootstrap).bootstrap)


def _names(connection: KafkaConnection) -> list[str]:
    from kio.schema.list_config_resources.v0.request import ListConfigResourcesRequest
    from kio.schema.list_config_resources.v0.response import ListConfigResourcesResponse

    answer = connection.call(ListConfigResourcesRequest(), ListConfigResourcesResponse)
    _check(answer.error_code, None, "subscriptions", "see", "DescribeConfigs")
    return sorted(resource.resource_name for resource in answer.config_resources)


def _unknown(name: str, known: Sequence[str]) -> CommandError:
    return not_found("subscription", name, known, "`penstock client-metrics list` shows all subscriptions")


def _check_names(connection: KafkaConnection, names: Sequence[str]) -> None:
    known = _names(connection)
    for name in names:
        if name not in known:
            raise _unknown(name, known)


def _described(connection: KafkaConnection, name: str) -> list[dict[str, str]]:
    from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource
    from kio.schema.describe_configs.v4.response import DescribeConfigsResponse
    from kio.static.primitive import i8

    resource = DescribeConfigsResource(resource_type=i8(RESOURCE_TYPE), resource_name=name, configuration_keys=None)
    (answer,) = connection.call(DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse).results
    _check(answer.error_code, answer.error_message, f"subscription {name}", "see", "DescribeConfigs")
    return [
        {
            "name": config.name,
            "value": config.value or "",
            "source": "default" if config.config_source == DEFAULT_SOURCE else "subscription",
        }
        for config in answer.configs
    ]


def _configs(connection: KafkaConnection, name: str) -> dict[str, str]:
    return {config["name"]: config["value"] for config in _described(connection, name)}


def _alter(connection: KafkaConnection, name: str, changes: Mapping[str, str | None]) -> None:
    """Change configs. None deletes one; a subscription without configs is deleted."""
    from kio.schema.incremental_alter_configs.v1 import request as schema
    from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse
    from kio.static.primitive import i8

    configs = tuple(
        schema.AlterableConfig(name=key, config_operation=i8(DELETE if value is None else SET), value=value)
        for key, value in changes.items()
    )
    resource = schema.AlterConfigsResource(resource_type=i8(RESOURCE_TYPE), resource_name=name, configs=configs)
    request = schema.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    (answer,) = connection.call(request, IncrementalAlterConfigsResponse).responses
    _check(answer.error_code, answer.error_message, f"subscription {name}", "change", "AlterConfigs")


def _check(code: Any, message: str | None, what: str, act: str, operation: str) -> None:
    """`act` needs the operation of the cluster."""
    if code:
        refused = refusal(code, f"{act} subscriptions of metrics", [Right(operation, Resource.CLUSTER)])
        raise refused or CommandError(f"{what}: {message or code.name}")
