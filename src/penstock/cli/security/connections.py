"""`penstock security connections` and `disconnect`: who is connected, and the end of it. Over the admin API."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from penstock.cli.kafka.command_config import CommandConfig
from penstock.cli.kafka.topic import ChangeOutput, OutputOption
from penstock.cli.security.admin_http import DEFAULT_URL, AdminApi, NodeUrl
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table

_COLUMNS = ("principal", "listener", "host", "port", "client_id", "software")


def connections(
    principal: Annotated[
        str | None, typer.Option("--principal", metavar="User:NAME", help="Only the connections of this principal.")
    ] = None,
    output: OutputOption = Output.TABLE,
    url: NodeUrl = DEFAULT_URL,
    command_config: CommandConfig = None,
) -> None:
    """List who is connected, at every door. Needs the right to describe the cluster."""
    of_one = "" if principal is None else f"&principal={quote(_checked(principal), safe='')}"
    found: list[dict[str, Any]] = AdminApi(url, command_config).all_of("/security/connections", "connections", of_one)
    if output is Output.JSON:
        print_json(found)
    elif found:
        rows = [tuple("-" if each[name] is None else str(each[name]) for name in _COLUMNS) for each in found]
        print_table([name.replace("_", " ") for name in _COLUMNS], rows)
    else:
        note("nobody is connected" if principal is None else f"{principal} is not connected")


def disconnect(
    principal: Annotated[
        str | None, typer.Argument(metavar="[User:NAME]", help="Whose connections and browser sessions end.")
    ] = None,
    address: Annotated[
        str | None, typer.Option("--address", metavar="IP", help="End only connections from this address.")
    ] = None,
    output: ChangeOutput = Output.TABLE,
    url: NodeUrl = DEFAULT_URL,
    command_config: CommandConfig = None,
) -> None:
    """End all connections of a principal, at every door. Needs the right to alter the cluster.

    Clients may come back: take the user, its rights or its certificate away first.
    """
    body = {}
    if principal is not None:
        body["principal"] = _checked(principal)
    if address is not None:
        body["address"] = address
    if not body:
        hint = "`penstock security connections` lists them"
        raise CommandError("name a principal, --address or both", ExitCode.USAGE, hint=hint)
    ended = AdminApi(url, command_config).ask("POST", "/security/disconnect", body)
    if output is Output.JSON:
        print_json(ended)
    else:
        note(f"ended {ended['connections']} connections and {ended['sessions']} browser sessions")


def _checked(principal: str) -> str:
    if ":" not in principal:
        hint = f"write User:{principal}"
        raise CommandError(f"{principal!r} is not a principal: it has a type and a name", ExitCode.USAGE, hint=hint)
    return principal
