"""`penstock pipe`: show how a node follows its parent, and reset mirrors that cannot follow."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.kafka.command_config import CommandConfig
from penstock.cli.kafka.topic import ChangeOutput, OutputOption
from penstock.cli.processes.node_http import DEFAULT_URL, NodeUrl, ask_node
from penstock.cli.terminal.output import Output, note, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Show how a node follows its parent, and reset mirrors.")

Topic = Annotated[
    str | None, typer.Argument(metavar="[TOPIC]", help="The mirror. Default: every mirror that has diverged.")
]


@app.command()
def status(
    output: OutputOption = Output.TABLE, url: NodeUrl = DEFAULT_URL, command_config: CommandConfig = None
) -> None:
    """Show the parent, the health of the pipe, and every mirror."""
    answer = ask_node(url, "/pipe/status", command_config)
    if output is Output.JSON:
        print_json(answer)
        return
    print_table(["", "value"], _summary(answer))
    if answer["topics"]:
        columns = ["mirror", "state", "partitions", "messages behind", "why"]
        print_table(columns, map(_row, answer["topics"]), numbers=["partitions", "messages behind"])
    else:
        note("no mirrors yet")


@app.command()
def reset(
    topic: Topic = None,
    output: ChangeOutput = Output.TABLE,
    url: NodeUrl = DEFAULT_URL,
    command_config: CommandConfig = None,
) -> None:
    """Delete a mirror, or all that have diverged, and copy it again from the start of the parent's log."""
    answer = ask_node(url, "/pipe/reset", command_config, method="POST", **({} if topic is None else {"topic": topic}))
    if output is Output.JSON:
        print_json(answer)
    elif answer["reset"]:
        note(f"reset: {', '.join(answer['reset'])}")
    else:
        note("no mirror has diverged; name a mirror to reset it anyway")


def _summary(answer: dict[str, Any]) -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = [
        ("parent", answer["parentUrl"]),
        ("health", answer["health"]),
        ("messages behind", answer["lagMessages"]),
        ("seconds behind", answer["lagSeconds"]),
        ("failures", answer["failures"]),
        ("gaps", answer["gaps"]),
        ("messages mirrored", answer["messages"]),
    ]
    if answer["lastFailure"]:
        rows.append(("last failure", answer["lastFailure"]))
    return rows


def _row(topic: dict[str, Any]) -> tuple[object, ...]:
    partitions = topic.get("partitions", [])
    behind = sum(max(0, each["parentEnd"] - each["logEnd"]) for each in partitions)
    troubles = [f"{each['partition']}: {each['trouble']}" for each in partitions if "trouble" in each]
    why = "; ".join([*([topic["reason"]] if "reason" in topic else []), *troubles])
    return topic["name"], topic["state"], len(partitions), behind, why
