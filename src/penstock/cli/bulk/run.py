"""What bulk jobs share: a broker that answers, errors in words with exit codes, Ctrl-C that says how to go on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.bulk.problems import BulkError, Damaged, Missing, Unfit
from penstock.cli.kafka.client import connect
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note
from penstock.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from penstock.client.cluster import Cluster

CLIENT_ID = "penstock-bulk"
GO_ON = "the same command goes on from there"

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
    str | None, typer.Option("--job", metavar="NAME", help="Name of the job. Default: from what goes where.")
]
Again = Annotated[bool, typer.Option("--again", help="Do once more what is done already.")]
TransactionRows = Annotated[int, typer.Option("--transaction-rows", min=1, help="At most so many in a transaction.")]
ShowProgress = Annotated[bool, typer.Option("--progress/--no-progress", help="A bar, or lines where that cannot be.")]
ResultOutput = Annotated[Output, typer.Option("--output", "-o", help="A sentence on stderr, or json.")]


def open_cluster(bootstrap: str) -> Cluster:
    """CommandError at once if nobody listens; later failures are waited out for a minute."""
    from penstock.client.address import parse_addresses
    from penstock.client.cluster import Cluster

    connect(bootstrap)
    # Rows come and go by the ten thousand, none of them in cycles: looking for those took a third of the time.
    gc.set_threshold(100_000, 50, 100)
    return Cluster(parse_addresses(bootstrap), client_id=CLIENT_ID)


@contextmanager
def told_in_words() -> Iterator[None]:
    """Whatever a job ends with, as a message and an exit code."""
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
        raise CommandError(str(error), ExitCode.NOT_FOUND if is_missing else ExitCode.FAILURE, hint=hint) from error
    except KeyboardInterrupt:
        note(f"interrupted; what was committed stays, and {GO_ON}")
        raise
