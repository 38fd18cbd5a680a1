"""`penstock transaction`: list and describe transactions, and abort those that hang.

librdkafka has none of these requests, so these commands send them themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer, connect
from penstock.cli.kafka.topic import ChangeOutput, OutputOption
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.cli.transaction.abort import abort_by_id, abort_in_partition
from penstock.cli.transaction.hanging import Hanging
from penstock.cli.transaction.hanging import find_hanging as find_all_hanging
from penstock.cli.transaction.requests import Place, all_places, list_all, open_for_ms, places
from penstock.cli.transaction.requests import describe as ask_for

if TYPE_CHECKING:
    from penstock.cli.kafka.kafka_connection import KafkaConnection
    from penstock.protocol.kafka.describe_transactions import DescribedTransaction

app = typer.Typer(no_args_is_help=True, help="List and describe transactions, and abort those that hang.")

TIMEOUT_MAX_MS = 900_000

Ids = Annotated[list[str], typer.Argument(metavar="TRANSACTIONAL_ID...")]
States = Annotated[
    list[str] | None,
    typer.Option("--state", "-s", metavar="STATE", help="Only in this state, such as Ongoing; may be repeated."),
]
OpenFor = Annotated[int, typer.Option("--open-for-ms", help="Only those that have been open for at least this long.")]


@app.command("list")
def list_transactions(
    state: States = None,
    for_ms: OpenFor = -1,
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """List transactional ids and their states."""
    with _connection(bootstrap_server) as connection:
        found = list_all(connection, states=state or (), open_for_ms=for_ms)
    rows = [
        {"transactional_id": one.transactional_id, "producer_id": one.producer_id, "state": one.transaction_state}
        for one in found
    ]
    if output is Output.JSON:
        print_json(rows)
    elif rows:
        columns = ["transactional id", "producer id", "state"]
        print_table(columns, [(row["transactional_id"], str(row["producer_id"]), row["state"]) for row in rows])
    else:
        note("no transactions")


@app.command()
def describe(ids: Ids, output: OutputOption = Output.TABLE, bootstrap_server: BootstrapServer = DEFAULT_SERVER) -> None:
    """Show a transaction: its state, how long it has been open, its partitions."""
    with _connection(bootstrap_server) as connection:
        described = [_shown(ask_for(connection, transactional_id)) for transactional_id in dict.fromkeys(ids)]
    if output is Output.JSON:
        print_json(described)
        return
    for each in described:
        rows = [(name.replace("_", " "), value) for name, value in each.items() if name != "transactional_id"]
        print_table(["", ""], rows, title=str(each["transactional_id"]))


@app.command("find-hanging")
def find_hanging(
    topic: Annotated[str | None, typer.Option(help="Only in this topic. Default: all.")] = None,
    timeout_max_ms: Annotated[
        int, typer.Option("--timeout-max-ms", help="Longest transaction timeout that the broker allows.")
    ] = TIMEOUT_MAX_MS,
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Find transactions that no coordinator knows, or that have been open longer than any timeout allows."""
    with _connection(bootstrap_server) as connection:
        found = list(find_all_hanging(connection, all_places(connection, topic), timeout_max_ms))
    if output is Output.JSON:
        print_json([_shown_hanging(one) for one in found])
    elif found:
        rows = [tuple("" if each is None else str(each) for each in _shown_hanging(one).values()) for one in found]
        print_table([name.replace("_", " ") for name in _shown_hanging(found[0])], rows)
        for remedy in dict.fromkeys(one.remedy for one in found):
            note(remedy)
    else:
        note("no transaction hangs")


@app.command()
def abort(
    transactional_id: Annotated[str | None, typer.Argument(metavar="TRANSACTIONAL_ID")] = None,
    topic: Annotated[str | None, typer.Option(help="Topic of a transaction that no coordinator knows.")] = None,
    partition: Annotated[int | None, typer.Option(help="Its partition.")] = None,
    producer_id: Annotated[int | None, typer.Option(help="Its producer.")] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Abort in the partition even if a coordinator knows the transaction or cannot be asked."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Abort the open transaction of a transactional id and fence its producer, or one that hangs in a partition."""
    with _connection(bootstrap_server) as connection:
        if transactional_id is not None and topic is None and partition is None and producer_id is None and not force:
            what = abort_by_id(connection, transactional_id, yes)
        elif transactional_id is None and topic is not None and partition is not None and producer_id is not None:
            what = abort_in_partition(connection, Place(topic, partition), producer_id, force=force, yes=yes)
        else:
            hint = "give a transactional id, or --topic, --partition and --producer-id"
            raise CommandError("no transaction is named", ExitCode.USAGE, hint=hint)
    if output is Output.JSON:
        print_json({"aborted": what})
    else:
        note(f"aborted {what}")


def _connection(bootstrap: str) -> KafkaConnection:
    from penstock.cli.kafka.kafka_connection import open_connection

    return open_connection(connect(bootstrap).bootstrap)


def _shown(found: DescribedTransaction) -> dict[str, object]:
    return {
        "transactional_id": found.transactional_id,
        "state": found.state,
        "open_for_ms": open_for_ms(found),
        "timeout_ms": found.timeout_ms,
        "producer_id": str(found.producer_id),
        "producer_epoch": found.producer_epoch,
        "partitions": places(found) or None,
    }


def _shown_hanging(one: Hanging) -> dict[str, object]:
    return {
        "topic": one.producer.place.topic,
        "partition": one.producer.place.partition,
        "producer_id": one.producer.producer_id,
        "producer_epoch": one.producer.producer_epoch,
        "start_offset": one.producer.start_offset,
        "open_for_ms": one.open_for_ms,
        "transactional_id": None if one.known is None else one.known.transactional_id,
        "why": one.why,
    }
