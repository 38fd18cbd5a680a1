"""Shared parts of bulk jobs: options, the connection to the broker, errors and their exit codes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.bulk.errors import BulkError, Damaged, Missing, Unfit
from penstock.cli.kafka.client import client_security, connect, explain_misfit
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note
from penstock.cli.terminal.rights import REFUSALS
from penstock.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from penstock.client.cluster import Cluster

CLIENT_ID = "penstock-bulk"
GO_ON = "the same command continues from there"
RIGHTS = "an administrator allows it with `penstock security acl add`; docs/bulk.md#rights has the rules for a job"

_CODES: dict[type[BulkError], ExitCode] = {
    Missing: ExitCode.NOT_FOUND,
    Unfit: ExitCode.USAGE,
    Damaged: ExitCode.DAMAGED,
}
_HINTS = {
    ErrorCode.MESSAGE_TOO_LARGE: "`penstock topic alter TOPIC --config max.message.bytes=…` allows larger records",
    ErrorCode.INVALID_RECORD: "a compacted topic takes only records with keys: give --key COLUMN",
    ErrorCode.UNSUPPORTED_VERSION: "jobs need transactions as of Kafka 4.0",
}

JobName = Annotated[
    str | None, typer.Option("--job", metavar="NAME", help="Name of the job. Default: from source and target.")
]
Again = Annotated[bool, typer.Option("--again", help="Repeat what is already done.")]
TransactionRows = Annotated[
    int, typer.Option("--transaction-rows", min=1, help="Maximum number of rows in a transaction.")
]
ShowProgress = Annotated[bool, typer.Option("--progress/--no-progress", help="A bar on a terminal, otherwise lines.")]
ResultOutput = Annotated[Output, typer.Option("--output", "-o", help="A sentence on stderr, or json.")]


def open_cluster(bootstrap: str) -> Cluster:
    """Connect to the broker, or fail at once; later failures are retried for a minute."""
    from penstock.client.address import parse_addresses
    from penstock.client.cluster import Cluster

    connect(bootstrap)
    cluster = Cluster(parse_addresses(bootstrap), client_id=CLIENT_ID, security=client_security())
    _check_answers(cluster)
    # Rows are created by the ten thousand and never form cycles; the collector took a third of the time.
    gc.set_threshold(100_000, 50, 100)
    return cluster


def _check_answers(cluster: Cluster) -> None:
    """CommandError if the broker hangs up because we do not log in, or not as it wants: no attempt would help."""
    from penstock.client.cluster import METADATA_VERSION
    from penstock.client.connection import BrokerUnavailable
    from penstock.protocol.kafka.apis import METADATA

    try:
        cluster.any_connection().call(METADATA, METADATA_VERSION, topics=[], allow_auto_topic_creation=False)
    except BrokerUnavailable as error:
        cluster.forget()
        misfit = explain_misfit()
        if misfit is not None:
            raise misfit from error


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn every error of a job into a message and an exit code."""
    from penstock.client.connection import BrokerUnavailable

    try:
        yield
    except BulkError as error:
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), ExitCode.FAILURE)
        raise CommandError(error.message, code, hint=error.hint) from error
    except BrokerUnavailable as error:
        hint = f"when it is back, {GO_ON}"
        raise CommandError(f"the broker is gone: {error}", ExitCode.UNREACHABLE, hint=hint) from error
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise CommandError(f"{error.filename}: {what}" if error.filename else str(error)) from error
    except KafkaError as error:
        is_missing = error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        hint = "was it deleted meanwhile?" if is_missing else _HINTS.get(error.code, "")
        hint = RIGHTS if error.code in REFUSALS else hint
        raise CommandError(str(error), ExitCode.NOT_FOUND if is_missing else ExitCode.FAILURE, hint=hint) from error
    except KeyboardInterrupt:
        note(f"interrupted; committed work is kept, and {GO_ON}")
        raise
