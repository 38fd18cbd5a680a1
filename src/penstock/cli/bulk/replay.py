"""`penstock replay`: write an archive, or a part of it, back into a topic with its times and keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.bulk.run import (
    Again,
    JobName,
    ResultOutput,
    ShowProgress,
    TransactionRows,
    open_cluster,
    readable_errors,
)
from penstock.cli.bulk.screen import JobScreen
from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer
from penstock.cli.kafka.produce import Compression
from penstock.cli.terminal.moment import parse_moment
from penstock.cli.terminal.output import Output, note, print_json
from penstock.model.counted import counted


def replay(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of an archive of `penstock archive`.")],
    topic: Annotated[str, typer.Option("--topic", "-t", help="Topic to write to; created if it does not exist.")],
    source_topic: Annotated[
        str | None, typer.Option("--source-topic", help="Topic of the archive, if it has several.")
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="WHEN", help="Start time, inclusive: 2026-03-01T09:00Z.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="WHEN", help="End time, exclusive.")] = None,
    partition: Annotated[list[int] | None, typer.Option("--partition", min=0, help="Only these partitions.")] = None,
    keep_partitions: Annotated[
        bool, typer.Option("--keep-partitions", help="Write each record to its old partition, not by key.")
    ] = False,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="Number for a new topic. Default: as archived.")
    ] = None,
    compression: Annotated[Compression, typer.Option("--compression", "-z")] = Compression.NONE,
    job: JobName = None,
    again: Again = False,
    transaction_rows: TransactionRows = 100_000,
    progress: ShowProgress = True,
    output: ResultOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Write an archive back into a topic.

    If it is interrupted or killed, the same command continues where it stopped; no record is lost or duplicated.
    """
    from penstock.bulk.rows import PieceLimits
    from penstock.cli.bulk import extra

    screen = JobScreen(f"replaying {directory}", show=progress)
    with readable_errors(), open_cluster(bootstrap_server) as cluster, screen:
        in_all = extra.replay(
            cluster,
            screen,
            PieceLimits(rows=transaction_rows),
            directory=directory,
            topic=topic,
            source_topic=source_topic,
            from_ms=None if from_ is None else parse_moment(from_, "--from"),
            to_ms=None if to is None else parse_moment(to, "--to"),
            partitions=tuple(partition) if partition else None,
            keep_partitions=keep_partitions,
            partition_count=partitions,
            codec=list(Compression).index(compression),
            job=job,
            again=again,
        )
    if output is Output.JSON:
        print_json({"topic": topic, "rows": screen.rows, "rows_in_all": in_all})
    elif not screen.rows:
        note(f"nothing new: {counted(in_all, 'record')} already replayed; --again writes everything once more")
    else:
        before = in_all - screen.rows
        earlier = f"; {before:,} from earlier runs" if before else ""
        note(screen.summary("record", f"into {topic}") + earlier)
