"""`penstock transaction`: what is open and since when, and the end of what hangs.

librdkafka knows none of these requests, so these commands speak to the broker themselves.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.client import DEFAULT_SERVER, BootstrapServer, connect
from penstock.cli.errors import CommandError, ExitCode
from penstock.cli.output import Output, note, print_json, print_table
from penstock.cli.topic import ChangeOutput, OutputOption

if TYPE_CHECKING:
    from penstock.cli.kafka_connection import KafkaConnection
    from penstock.protocol.kafka.describe_transactions import DescribedTransaction

app = typer.Typer(no_args_is_help=True, help="Look at transactions, and end those that hang.")

CONCURRENT_TRANSACTIONS, NOT_FOUND = 51, 105
ABORT_SECONDS_MAX = 30.0

Ids = Annotated[list[str], typer.Argument(metavar="TRANSACTIONAL_ID...")]
States = Annotated[
    list[str] | None, typer.Option("--state", "-s", metavar="STATE", help="Only in this state, as Ongoing; several.")
]
OpenFor = Annotated[int, typer.Option("--open-for-ms", help="Only those open for at least so long.")]


@app.command("list")
def list_transactions(
    state: States = None,
    open_for_ms: OpenFor = -1,
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """List transactional ids and their states."""
    from kio.schema.list_transactions.v1.request import ListTransactionsRequest
    from kio.static.primitive import i64

    request = ListTransactionsRequest(
        state_filters=tuple(state or ()), producer_id_filters=(), duration_filter=i64(open_for_ms)
    )
    with _connection(bootstrap_server) as connection:
        answer = connection.call(request)
    _check(answer.error_code, "transactions")
    if answer.unknown_state_filters:
        names = ", ".join(answer.unknown_state_filters)
        hint = "states are Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead"
        raise CommandError(f"no such state: {names}", ExitCode.USAGE, hint=hint)
    rows = [
        {"transactional_id": one.transactional_id, "producer_id": one.producer_id, "state": one.transaction_state}
        for one in sorted(answer.transaction_states, key=lambda one: one.transactional_id)
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
        described = [_shown(_describe(connection, transactional_id)) for transactional_id in dict.fromkeys(ids)]
    if output is Output.JSON:
        print_json(described)
        return
    for each in described:
        rows = [(name.replace("_", " "), value) for name, value in each.items() if name != "transactional_id"]
        print_table(["", ""], rows, title=str(each["transactional_id"]))


@app.command()
def abort(
    transactional_id: Annotated[str | None, typer.Argument(metavar="TRANSACTIONAL_ID")] = None,
    topic: Annotated[str | None, typer.Option(help="Of a transaction that no coordinator knows.")] = None,
    partition: Annotated[int, typer.Option(help="Its partition.")] = 0,
    producer_id: Annotated[int | None, typer.Option(help="Its producer.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Abort the open transaction of a transactional id, and shut its producer out; or one that hangs in a partition."""
    is_hanging = topic is not None and producer_id is not None
    if (transactional_id is None) == (not is_hanging):
        hint = "give a transactional id, or --topic, --partition and --producer-id"
        raise CommandError("which transaction?", ExitCode.USAGE, hint=hint)
    with _connection(bootstrap_server) as connection:
        if transactional_id is not None:
            what = f"the transaction of {transactional_id}"
            found = _describe(connection, transactional_id)
            if found.state != "Ongoing":
                raise CommandError(f"{transactional_id} has no open transaction, it is {found.state}")
            _ask(f"Abort {what}, open in {_places(found)}? Its producer is shut out.", yes)
            _abort_by_fencing(connection, found)
        else:
            assert topic is not None
            assert producer_id is not None
            what = f"the transaction of producer {producer_id} in {topic}-{partition}"
            producer = _producer(connection, topic, partition, producer_id)
            _ask(f"Abort {what}, open from offset {producer.current_txn_start_offset} on?", yes)
            _abort_by_marker(connection, topic, partition, producer)
    if output is Output.JSON:
        print_json({"aborted": what})
    else:
        note(f"aborted {what}")


def _connection(bootstrap: str) -> KafkaConnection:
    from penstock.cli.kafka_connection import open_connection

    return open_connection(connect(bootstrap).bootstrap)


def _describe(connection: KafkaConnection, transactional_id: str) -> DescribedTransaction:
    from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest
    from kio.schema.types import TransactionalId

    from penstock.protocol.kafka.describe_transactions import decode

    request = DescribeTransactionsRequest(transactional_ids=(TransactionalId(transactional_id),))
    found: DescribedTransaction = connection.call(request, decode)[0]
    if found.error == NOT_FOUND:
        hint = "`penstock transaction list` shows all of them"
        raise CommandError(f"no transactional id {transactional_id}", ExitCode.NOT_FOUND, hint=hint)
    _check(found.error, transactional_id)
    return found


def _shown(found: DescribedTransaction) -> dict[str, object]:
    is_open = found.start_ms >= 0 and found.state in ("Ongoing", "PrepareCommit", "PrepareAbort")
    return {
        "transactional_id": found.transactional_id,
        "state": found.state,
        "open_for_ms": round(time.time() * 1000) - found.start_ms if is_open else None,
        "timeout_ms": found.timeout_ms,
        "producer_id": str(found.producer_id),
        "producer_epoch": found.producer_epoch,
        "partitions": _places(found) or None,
    }


def _places(found: DescribedTransaction) -> str:
    return ", ".join(f"{topic}-{index}" for topic, indexes in found.topics for index in indexes)


def _ask(question: str, yes: bool) -> None:
    if not yes and not typer.confirm(question, err=True):
        raise CommandError("nothing was aborted")


def _abort_by_fencing(connection: KafkaConnection, found: DescribedTransaction) -> None:
    """A new producer of the same id has what is open aborted, as every restart of an application does."""
    import datetime

    from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
    from kio.schema.types import ProducerId, TransactionalId
    from kio.static.primitive import i16, i32Timedelta

    request = InitProducerIdRequest(
        transactional_id=TransactionalId(found.transactional_id),
        transaction_timeout=i32Timedelta.parse(datetime.timedelta(milliseconds=found.timeout_ms)),
        producer_id=ProducerId(-1),
        producer_epoch=i16(-1),
    )
    deadline = time.monotonic() + ABORT_SECONDS_MAX
    while True:
        code = connection.call(request).error_code
        if code != CONCURRENT_TRANSACTIONS or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    _check(code, found.transactional_id)


def _producer(connection: KafkaConnection, topic: str, partition: int, producer_id: int) -> Any:
    from kio.schema.describe_producers.v0.request import DescribeProducersRequest, TopicRequest
    from kio.schema.types import TopicName
    from kio.static.primitive import i32

    wanted = TopicRequest(name=TopicName(topic), partition_indexes=(i32(partition),))
    answer = connection.call(DescribeProducersRequest(topics=(wanted,))).topics[0].partitions[0]
    _check(answer.error_code, f"{topic}-{partition}")
    for producer in answer.active_producers:
        if producer.producer_id == producer_id and producer.current_txn_start_offset >= 0:
            return producer
    message = f"producer {producer_id} has no open transaction in {topic}-{partition}"
    raise CommandError(message, ExitCode.NOT_FOUND)


def _abort_by_marker(connection: KafkaConnection, topic: str, partition: int, producer: Any) -> None:
    from kio.schema.types import ProducerId, TopicName
    from kio.schema.write_txn_markers.v1 import request as schema
    from kio.static.primitive import i16, i32

    marker = schema.WritableTxnMarker(
        producer_id=ProducerId(producer.producer_id),
        producer_epoch=i16(producer.producer_epoch),
        transaction_result=False,
        topics=(schema.WritableTxnMarkerTopic(name=TopicName(topic), partition_indexes=(i32(partition),)),),
        coordinator_epoch=i32(max(producer.coordinator_epoch, 0)),
    )
    answer = connection.call(schema.WriteTxnMarkersRequest(markers=(marker,)))
    _check(answer.markers[0].topics[0].partitions[0].error_code, f"{topic}-{partition}")


def _check(code: Any, what: str) -> None:
    from penstock.model.errors import ErrorCode

    if code:
        raise CommandError(f"{what}: {ErrorCode(int(code)).name}")
