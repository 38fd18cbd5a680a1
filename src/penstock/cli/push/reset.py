"""`penstock push list` and `penstock push reset`: the subscriptions of a node, and a refresh of one.

The list is on the HTTP port only. A refresh is begun there, too, or on the push port, like the other push commands.
"""

from __future__ import annotations

import urllib.parse
from typing import Annotated

import typer

from penstock.cli.kafka.command_config import CommandConfig
from penstock.cli.processes.node_http import DEFAULT_URL, NodeUrl, ask_node
from penstock.cli.push.session import DEFAULT_HOST, DEFAULT_PORT, connected
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.cli.terminal.rights import Resource, Right

OutputOption = Annotated[Output, typer.Option("--output", "-o", help="A table, or json.")]


def list_subscriptions(
    output: OutputOption = Output.TABLE, url: NodeUrl = DEFAULT_URL, command_config: CommandConfig = None
) -> None:
    """List subscriptions with their members and unacknowledged messages."""
    rows = ask_node(url, "/push/subscriptions", command_config)["subscriptions"]
    if output is Output.JSON:
        print_json(rows)
    elif rows:
        columns = ["name", "topic", "delivery", "members", "unacknowledged", "refresh"]
        print_table(columns, [tuple("" if row[name] is None else str(row[name]) for name in columns) for row in rows])
    else:
        note("no subscriptions yet; create one with `penstock push create-subscription NAME TOPIC`")


def reset(
    subscription: Annotated[str, typer.Argument(metavar="SUBSCRIPTION")],
    output: Annotated[Output, typer.Option("--output", "-o", help="A sentence on stderr, or json.")] = Output.TABLE,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDR", help="Broker to talk to, over the push protocol.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Its push port, or Kafka port.")] = None,
    url: NodeUrl = DEFAULT_URL,
    command_config: CommandConfig = None,
) -> None:
    """Start a refresh: the members rebuild their data from everything in the topic.

    It is asked for at the HTTP port of --url, whose answer says where the refresh ends, or, with --host or --port, over
    the push protocol.
    """
    if host is not None or port is not None:
        act = f"refresh subscription {subscription}"
        needs = [Right("Read", Resource.GROUP, subscription), Right("Read", Resource.TOPIC, "TOPIC")]
        with connected(host or DEFAULT_HOST, port or DEFAULT_PORT, command_config, act=act, needs=needs) as client:
            client.ask_refresh(subscription)
        if output is Output.JSON:
            print_json({"subscription": subscription, "reset": True})
        else:
            note(f"refresh of {subscription} started")
        return
    path = f"/push/subscriptions/{urllib.parse.quote(subscription, safe='')}/reset"
    answer = ask_node(url, path, command_config, method="POST")
    if output is Output.JSON:
        print_json(answer)
        return
    ends = ", ".join(f"partition {partition} up to {end}" for partition, end in answer["end_offsets"].items())
    note(f"refresh {answer['refresh_id']} of {subscription} started: {ends}")


def register(app: typer.Typer) -> None:
    app.command("list")(list_subscriptions)
    app.command("reset")(reset)
