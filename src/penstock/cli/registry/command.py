"""`penstock registry`: run the registry of a hierarchy, show its nodes and change their parents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.kafka.command_config import CommandConfig
from penstock.cli.log_flag import configure_logs_by_flag
from penstock.cli.port_settings import PORT, load_port_settings
from penstock.cli.registry.client import DEFAULT_URL, RegistryClient
from penstock.cli.settings_flags import SettingsFlags, takes_settings
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table

if TYPE_CHECKING:
    from penstock.node.registry_server import RegistryOptions

app = typer.Typer(no_args_is_help=True, help="Run the registry of a hierarchy of brokers, and manage its nodes.")

Url = Annotated[str, typer.Option("--registry", envvar="REGISTRY_URL", metavar="URL", help="URL of the registry.")]
Format = Annotated[Output, typer.Option("--output", "-o", help="A table for people, or json for programs.")]
NodeId = Annotated[str, typer.Argument(metavar="NODE", help="Id of a node.")]


@app.command()
@takes_settings(PORT)
def serve(
    flags: SettingsFlags,
    data_dir: Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="Directory for all data.")] = Path(
        "registry-data"
    ),
    host: Annotated[str, typer.Option("--host", metavar="ADDR", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8080,
    missed_polls: Annotated[
        int, typer.Option("--missed-polls", min=1, help="Polls that a node may miss before it counts as away.")
    ] = 3,
    nodes_max: Annotated[int, typer.Option("--nodes-max", min=1, help="Maximum number of nodes.")] = 10_000,
    cloud_test: Annotated[
        bool,
        typer.Option("--cloud-test", help="Run a root broker on the same port, with five prices in price-topic."),
    ] = False,
    advertised_url: Annotated[
        str | None,
        typer.Option("--advertised-url", metavar="URL", help="With --cloud-test: URL of the root for its children."),
    ] = None,
    allowed_host: Annotated[
        list[str],
        typer.Option(
            "--allowed-host",
            metavar="NAME",
            help="Name under which nodes address it, if not localhost, an address or the machine's; repeatable.",
        ),
    ] = [],  # noqa: B006  typer's default, which nobody changes
    log_level: Annotated[
        str | None, typer.Option("--log-level", metavar="LEVEL|MODULE=LEVEL,…", help="INFO, or topology=DEBUG.")
    ] = None,
) -> None:
    """Run the registry. It stops cleanly on SIGTERM or Ctrl-C.

    --config and --set give the port TLS, logins and rules, as those of a node's HTTP port (docs/security.md).
    """
    if cloud_test and port == 0:
        raise typer.BadParameter("--cloud-test needs a port other than 0: the root broker finds its registry there")
    from penstock.node.errors import SettingsError, StartError
    from penstock.node.registry_server import RegistryOptions

    configure_logs_by_flag(log_level)
    settings = load_port_settings(flags)
    options = RegistryOptions(
        data_dir=data_dir,
        host=host,
        port=port,
        missed_polls=missed_polls,
        nodes_max=nodes_max,
        allowed_hosts=tuple(allowed_host),
        settings=settings,
    )
    try:
        code = _serve_cloud_test(options, advertised_url) if cloud_test else _serve_registry(options)
    except SettingsError as error:
        raise CommandError(str(error).replace("\n", "\npenstock: "), ExitCode.USAGE) from error
    except StartError as error:
        raise CommandError(str(error)) from error
    sys.stderr.flush()
    raise typer.Exit(code)


def _serve_registry(options: RegistryOptions) -> int:
    from penstock.node.registry_server import serve_registry

    return serve_registry(options)


def _serve_cloud_test(options: RegistryOptions, advertised_url: str | None) -> int:
    from penstock.node.cloud_test import serve_cloud_test

    return serve_cloud_test(options, advertised_url)


@app.command("list")
def list_nodes(
    registry: Url = DEFAULT_URL, output: Format = Output.TABLE, command_config: CommandConfig = None
) -> None:
    """List all nodes, from the top down."""
    nodes = RegistryClient(registry, command_config).nodes()
    if output is Output.JSON:
        print_json(nodes)
        return
    if not nodes:
        note("no nodes yet; a broker registers when it starts with REGISTRY_URL or registry.url")
        return
    print_table(
        ["node", "role", "state", "parent", "children", "site", "url", "version"],
        [
            [
                node["nodeId"],
                node["role"],
                "live" if node["live"] else "silent",
                _parent(node),
                node["children"],
                node["site"],
                node["url"],
                node["version"],
            ]
            for node in nodes
        ],
        numbers=["children", "version"],
    )


@app.command()
def show(
    node: NodeId, registry: Url = DEFAULT_URL, output: Format = Output.TABLE, command_config: CommandConfig = None
) -> None:
    """Show everything about one node."""
    found = RegistryClient(registry, command_config).node(node)
    if output is Output.JSON:
        print_json(found)
        return
    print_table(["field", "value"], [[name, _shown(value)] for name, value in found.items()])


@app.command()
def set_parent(
    node: NodeId,
    parent: Annotated[str | None, typer.Argument(metavar="PARENT", help="The new parent.")] = None,
    auto: Annotated[bool, typer.Option("--auto", help="Let the rules choose the parent again.")] = False,
    registry: Url = DEFAULT_URL,
    command_config: CommandConfig = None,
) -> None:
    """Set the parent of a node by hand. The node learns of it at its next poll."""
    if auto is (parent is not None):
        raise typer.BadParameter("name a parent, or use --auto")
    changed = RegistryClient(registry, command_config).set_parent(node, parent)
    note(f"the parent of {node} is {changed['parentId'] or 'none'}, {'by the rules' if auto else 'set by hand'}")


@app.command()
def remove(node: NodeId, registry: Url = DEFAULT_URL, command_config: CommandConfig = None) -> None:
    """Remove a node. A node that is still running registers again."""
    RegistryClient(registry, command_config).remove(node)
    note(f"node {node} removed")


def _parent(node: dict[str, object]) -> object:
    if node["setByHand"] is None:
        return node["parentId"]
    if node["setByHand"] == node["parentId"]:
        return f"{node['parentId']} (by hand)"
    return f"{node['parentId']} (by hand: {node['setByHand']})"


def _shown(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
