"""`penstock group`: list, describe and delete groups, and reset their offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.kafka.client import (
    DEFAULT_SERVER,
    REQUEST_TIMEOUT_S,
    BootstrapServer,
    ClientProperties,
    connect,
    explain,
    translated,
)
from penstock.cli.kafka.offset_reset import Reset, plan_reset
from penstock.cli.kafka.topic import ChangeOutput, OutputOption, offset_ranges, report_deletions
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.cli.terminal.rights import Resource, may_not_see
from penstock.model.counted import counted

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

app = typer.Typer(no_args_is_help=True, help="List, describe and delete consumer groups, and reset their offsets.")

Place = tuple[str, int]


@app.command("list")
def list_groups(
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """List groups and their states."""
    cluster = connect(bootstrap_server, properties)
    admin = cluster.admin()
    rows = [
        {"group": found.group_id, "state": found.state.name.lower(), "simple": found.is_simple_consumer_group}
        for found in sorted(_groups(admin), key=lambda found: found.group_id)
    ]
    if output is Output.JSON:
        print_json(rows)
    elif rows:
        print_table(["group", "state"], [(row["group"], row["state"]) for row in rows])
    else:
        note("no groups yet; create one with `penstock consume TOPIC --group NAME`")


def _groups(admin: AdminClient) -> Sequence[Any]:
    with translated("groups"):
        result = admin.list_consumer_groups(request_timeout=REQUEST_TIMEOUT_S).result()
    for error in result.errors:
        raise explain(error.args[0] if isinstance(error, Exception) else error, "groups")
    return list(result.valid)


def check_group(admin: AdminClient, name: str, needs: str = "Describe") -> None:
    """`needs` is the operation that the command needs, for those who may not describe the group."""
    known = [found.group_id for found in _groups(admin)]
    if name not in known:
        if _is_hidden(admin, name):
            raise may_not_see(Resource.GROUP, name, needs)
        raise not_found("group", name, known, "`penstock group list` shows all groups")


def _is_hidden(admin: AdminClient, name: str) -> bool:
    """Whether a group that is not among all groups is missing there because we may not describe it."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        admin.describe_consumer_groups([name], request_timeout=REQUEST_TIMEOUT_S)[name].result()
    except KafkaException as error:
        return bool(error.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED)
    except ValueError:  # a name that the library does not send
        pass
    return False


@app.command()
def describe(
    names: Annotated[list[str], typer.Argument(metavar="GROUP...")],
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Show members, committed offsets and lag."""
    cluster = connect(bootstrap_server, properties)
    admin = cluster.admin()
    for name in names:
        check_group(admin, name)
    described = [_describe(admin, name) for name in dict.fromkeys(names)]
    if output is Output.JSON:
        print_json(described)
        return
    columns = ["topic", "partition", "committed", "end", "lag", "member", "host"]
    for group in described:
        title = f"{group['group']}  {group['state']}, {counted(len(group['members']), 'member')}, lag {group['lag']:,}"
        rows = [[row[column] for column in columns] for row in group["partitions"]]
        if not rows:
            note(f"{title}; it has neither offsets nor partitions")
            continue
        print_table(columns, rows, title=title, numbers=["partition", "committed", "end", "lag"])


def _describe(admin: AdminClient, name: str) -> dict[str, Any]:
    with translated(f"group {name}"):
        group = admin.describe_consumer_groups([name], request_timeout=REQUEST_TIMEOUT_S)[name].result()
    owners = {
        (part.topic, part.partition): member
        for member in group.members
        if member.assignment is not None
        for part in member.assignment.topic_partitions
    }
    committed = committed_offsets(admin, name)
    places = sorted(set(committed) | set(owners))
    ranges = offset_ranges(admin, places)
    partitions = []
    for place in places:
        start, end = ranges[place]
        offset = committed.get(place)
        owner = owners.get(place)
        partitions.append(
            {
                "topic": place[0],
                "partition": place[1],
                "committed": offset,
                "end": end,
                "lag": _behind(offset, start, end) if offset is not None else None,
                "member": owner.client_id if owner else None,
                "host": owner.host if owner else None,
            }
        )
    return {
        "group": name,
        "state": group.state.name.lower(),
        "assignor": group.partition_assignor,
        "coordinator": group.coordinator.id if group.coordinator else None,
        "members": [
            {"member": m.member_id, "client": m.client_id, "host": m.host, "instance": m.group_instance_id}
            for m in group.members
        ],
        "lag": sum(int(row["lag"] or 0) for row in partitions),
        "partitions": partitions,
    }


def committed_offsets(admin: AdminClient, name: str) -> dict[Place, int]:
    from confluent_kafka import ConsumerGroupTopicPartitions

    with translated(f"offsets of {name}"):
        asked = [ConsumerGroupTopicPartitions(name)]
        answer = admin.list_consumer_group_offsets(asked, request_timeout=REQUEST_TIMEOUT_S)[name].result()
    return {(part.topic, part.partition): part.offset for part in answer.topic_partitions if part.offset >= 0}


def group_lag(admin: AdminClient, name: str) -> int:
    """Return the number of records between the committed offsets of a group and the ends of their partitions."""
    committed = committed_offsets(admin, name)
    ranges = offset_ranges(admin, sorted(committed))
    return sum(_behind(offset, *ranges[place]) for place, offset in committed.items())


def _behind(offset: int, start: int, end: int) -> int:
    """Return how far an offset is behind; records below the start of the log are gone and do not count."""
    return max(0, end - max(offset, start))


@app.command("reset-offsets")
def reset_offsets(
    name: Annotated[str, typer.Argument(metavar="GROUP")],
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic", "-t", metavar="TOPIC[:PARTITION,…]", help="Default: all partitions with committed offsets."
        ),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the start of the log.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end of the log.")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", min=0)] = None,
    to_datetime: Annotated[
        str | None, typer.Option("--to-datetime", metavar="TIME", help="2026-03-01T09:00:00Z, or @MILLISECONDS.")
    ] = None,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", help="Move forward by this number, or back if negative.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Commit the new offsets; without this they are only shown.")
    ] = False,
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Move the committed offsets of a group without members. Shows the new offsets unless --execute."""
    reset = Reset.from_options(to_earliest, to_latest, to_offset, to_datetime, shift_by)
    cluster = connect(bootstrap_server, properties)
    admin = cluster.admin()
    if not topics:
        check_group(admin, name, "Read")
    rows, remarks = plan_reset(cluster, admin, committed_offsets(admin, name), topics, reset)
    if not rows:
        hint = "name a topic with --topic"
        raise CommandError(f"group {name} has no offsets", ExitCode.NOT_FOUND, hint=hint)
    if execute:
        _commit(admin, name, rows)
    if output is Output.JSON:
        print_json({"group": name, "executed": execute, "offsets": rows})
    else:
        columns = ["topic", "partition", "from", "to"]
        print_table(columns, [[row[c] for c in columns] for row in rows], numbers=["partition", "from", "to"])
    for remark in remarks:
        note(remark)
    if not execute:
        note("nothing was changed; add --execute to commit these offsets")


def _commit(admin: AdminClient, name: str, rows: Sequence[dict[str, Any]]) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

    parts = [TopicPartition(row["topic"], row["partition"], row["to"]) for row in rows]
    wanted = [ConsumerGroupTopicPartitions(name, parts)]
    try:
        answer = admin.alter_consumer_group_offsets(wanted, request_timeout=REQUEST_TIMEOUT_S)[name].result()
        problems = [part.error for part in answer.topic_partitions if part.error is not None]
    except KafkaException as error:
        problems = [error.args[0]]
    if not problems:
        return
    in_use = (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP, KafkaError.REBALANCE_IN_PROGRESS)
    if problems[0].code() in in_use:
        raise CommandError(f"group {name} has members", hint="stop its consumers first")
    raise explain(problems[0], f"group {name}")


@app.command()
def delete(
    names: Annotated[list[str], typer.Argument(metavar="GROUP...")],
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Delete groups without members, and their offsets."""
    from confluent_kafka import KafkaError, KafkaException

    names = list(dict.fromkeys(names))
    admin = connect(bootstrap_server, properties).admin()
    for name in names:
        check_group(admin, name, "Delete")
    failures = {}
    for name, future in admin.delete_consumer_groups(names, request_timeout=REQUEST_TIMEOUT_S).items():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.NON_EMPTY_GROUP:
                failures[name] = CommandError(f"group {name} has members", hint="stop its consumers first")
            else:
                failures[name] = explain(error.args[0], f"group {name}")
    report_deletions("group", names, failures, output)
