"""`penstock load`: load SQLite tables, CSV, JSON lines and Parquet into a topic, each row once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json
from penstock.model.counted import counted

if TYPE_CHECKING:
    from penstock.bulk.load_job import LoadRequest, LoadResult


def load(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="SQLite database, CSV, JSON lines or Parquet.")],
    topic: Annotated[str, typer.Option("--topic", "-t", help="Topic to write to; created if it does not exist.")],
    table: Annotated[str | None, typer.Option("--table", help="Table of a database.")] = None,
    query: Annotated[str | None, typer.Option("--query", help="Query of a database, with ORDER BY.")] = None,
    key: Annotated[
        str | None, typer.Option("--key", "-k", metavar="COLUMN", help="Column for keys. Default: no keys.")
    ] = None,
    value: Annotated[str, typer.Option("--value", help="json, csv or column:NAME.")] = "json",
    timestamp: Annotated[
        str | None,
        typer.Option("--timestamp", metavar="COLUMN", help="Column for timestamps: ISO 8601 or ms. Default: now."),
    ] = None,
    number: Annotated[
        list[str] | None, typer.Option("--number", metavar="COLUMN", help="CSV column that becomes a number in JSON.")
    ] = None,
    format: Annotated[  # noqa: A002 - it is the option's name
        str | None, typer.Option("--format", "-f", help="sqlite, csv, jsonl or parquet. Default: by content and name.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Of a CSV. Default: comma, or tab for .tsv.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B,…", help="Column names of a CSV without a header line.")
    ] = None,
    partitions: Annotated[int | None, typer.Option("--partitions", "-p", min=1, help="Number for a new topic.")] = None,
    compression: Annotated[Compression, typer.Option("--compression", "-z")] = Compression.NONE,
    skip_bad: Annotated[
        Path | None, typer.Option("--skip-bad", metavar="FILE", help="Write bad rows to this file and continue.")
    ] = None,
    job: JobName = None,
    again: Again = False,
    transaction_rows: TransactionRows = 50_000,
    spark: Annotated[bool, typer.Option("--spark", help="Read with Spark: many or very large files.")] = False,
    master: Annotated[str, typer.Option("--master", help="Spark master.")] = "local[*]",
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="DIR", help="With --spark: directory for the progress of the job."),
    ] = None,
    progress: ShowProgress = True,
    output: ResultOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Load rows into a topic.

    If it is interrupted or killed, the same command continues where it stopped; no row is lost or duplicated.
    """
    from penstock.bulk import load_job
    from penstock.bulk.encoding import Shape
    from penstock.bulk.opening import FORMATS, Reading
    from penstock.bulk.rows import PieceLimits
    from penstock.cli.bulk.extra import load_on_spark, open_parquet

    if format is not None and format not in FORMATS:
        raise CommandError(f"--format {format} is not one of {', '.join(FORMATS)}", ExitCode.USAGE)
    names = None if columns is None else tuple(columns.split(","))
    request = load_job.LoadRequest(
        path=file,
        topic=topic,
        reading=Reading(format, table, query, delimiter, names),
        shape=Shape(value, key, timestamp, tuple(number or ())),
        partitions=partitions,
        codec=list(Compression).index(compression),
        skip_bad=skip_bad,
        job=job,
        again=again,
        limits=PieceLimits(rows=transaction_rows),
    )
    screen = JobScreen(f"loading {file.name}", show=progress)
    with readable_errors(), open_cluster(bootstrap_server) as cluster, screen:
        if spark:
            here = _checked_for_spark(request, checkpoint)
            rows = load_on_spark(cluster, request, screen, master, bootstrap_server, here)
            result = load_job.LoadResult(rows, 0)
        else:
            result = load_job.load(cluster, request, open_parquet, screen)
    _report(request, result, screen, output)


def _checked_for_spark(request: LoadRequest, checkpoint: Path | None) -> Path:
    if checkpoint is None:
        hint = "give the same directory again to continue"
        raise CommandError(
            "--spark needs --checkpoint, a directory for the progress of the job", ExitCode.USAGE, hint=hint
        )
    if request.skip_bad or request.job or request.again or request.reading.table or request.reading.query:
        hint = "leave out one or the other"
        named = "--skip-bad, --job, --again, --table and --query"
        raise CommandError(f"{named} cannot be used with --spark", ExitCode.USAGE, hint=hint)
    return checkpoint


def _report(request: LoadRequest, result: LoadResult, screen: JobScreen, output: Output) -> None:
    topic, skip_bad = request.topic, request.skip_bad
    if output is Output.JSON:
        print_json({"job": request.job_name, "topic": topic, "rows": screen.rows, **result._asdict()})
    elif not screen.rows and result.rows_in_all:
        note(f"nothing new: {counted(result.rows_in_all, 'row')} already loaded; --again loads everything once more")
    else:
        before = result.rows_in_all - screen.rows
        earlier = f"; {before:,} from earlier runs" if before else ""
        bad = f"; {counted(result.skipped, 'bad row')} in {skip_bad}" if result.skipped else ""
        note(screen.summary("row", f"into {topic}") + earlier + bad)
