"""`penstock push list` and `penstock push reset`: subscriptions of a node, and a refresh of one, over its HTTP port."""

from __future__ import annotations

import urllib.parse
from typing import Annotated

import typer

from penstock.cli.processes.node_http import DEFAULT_URL, NodeUrl, ask_node
from penstock.cli.terminal.output import Output, note, print_json, print_table

OutputOption = Annotated[Output, typer.Option("--output", "-o", help="A table, or json.")]


def list_subscriptions(output: OutputOption = Output.TABLE, url: NodeUrl = DEFAULT_URL) -> None:
    """List subscriptions with their members and what is not acknowledged."""
    rows = ask_node(url, "/push/subscriptions")["subscriptions"]
    if output is Output.JSON:
        print_json(rows)
    elif rows:
        columns = ["name", "topic", "delivery", "members", "unacknowledged", "refresh"]
        print_table(columns, [tuple("" if row[name] is None else str(row[name]) for name in columns) for row in rows])
    else:
        note("no subscriptions yet; `penstock push create-subscription NAME TOPIC` makes one")


def reset(
    subscription: Annotated[str, typer.Argument(metavar="SUBSCRIPTION")],
    output: Annotated[Output, typer.Option("--output", "-o", help="A sentence on stderr, or json.")] = Output.TABLE,
    url: NodeUrl = DEFAULT_URL,
) -> None:
    """Begin a refresh: members build their data anew, from everything that the topic holds."""
    path = f"/push/subscriptions/{urllib.parse.quote(subscription, safe='')}/reset"
    answer = ask_node(url, path, method="POST")
    if output is Output.JSON:
        print_json(answer)
        return
    ends = ", ".join(f"{partition} up to {end}" for partition, end in answer["end_offsets"].items())
    note(f"refresh {answer['refresh_id']} of {subscription} has begun: partition {ends}")


def register(app: typer.Typer) -> None:
    app.command("list")(list_subscriptions)
    app.command("reset")(reset)
