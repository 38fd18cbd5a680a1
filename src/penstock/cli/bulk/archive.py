"""`penstock archive`: append the new records of a topic to Parquet files by date, each record once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.bulk.run import ResultOutput, ShowProgress, open_cluster, readable_errors
from penstock.cli.bulk.screen import JobScreen
from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer, client_security
from penstock.cli.terminal.byte_size import parse_size
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json
from penstock.model.counted import counted

COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")


def archive(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Directory of the archive, for any number of topics; created if missing."),
    ],
    file_size: Annotated[str, typer.Option("--file-size", metavar="SIZE", help="Approximate size of a file.")] = "128M",
    compression: Annotated[str, typer.Option("--compression", "-z", help=", ".join(COMPRESSIONS))] = "zstd",
    skip_missing: Annotated[
        bool,
        typer.Option("--skip-missing", help="Skip records that were removed from the topic before they were archived."),
    ] = False,
    commit_rows: Annotated[
        int | None,
        typer.Option("--commit-rows", min=1, help="Commit after this many records. Default: after about 512 MB."),
    ] = None,
    spark: Annotated[
        bool, typer.Option("--spark", help="Use Spark, with many tasks at once; all must see the same DIR.")
    ] = False,
    master: Annotated[str, typer.Option("--master", help="Where Spark runs.")] = "local[*]",
    progress: ShowProgress = True,
    output: ResultOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Append the new records of a topic to an archive.

    If it is interrupted or killed, the same command continues where it stopped; no record is lost or duplicated.
    """
    from penstock.cli.bulk import extra

    if compression not in COMPRESSIONS:
        raise CommandError(f"--compression {compression} is not one of {', '.join(COMPRESSIONS)}", ExitCode.USAGE)
    settings: dict[str, Any] = {
        "bootstrap": bootstrap_server,
        "file_bytes": parse_size(file_size, "--file-size"),
        "compression": compression,
        "tolerant": skip_missing,
        "security": client_security(),
    }
    if commit_rows is not None:
        settings["step_rows_max"] = commit_rows
    screen = JobScreen(f"archiving {topic}", show=progress)
    with readable_errors(), open_cluster(bootstrap_server) as cluster, screen:
        result = extra.archive(cluster, topic, directory, screen, master if spark else None, **settings)
    if output is Output.JSON:
        print_json({"topic": topic, "rows": screen.rows, **result._asdict()})
    elif not screen.rows:
        note(f"nothing new: {directory} has {counted(result.rows_in_all, 'record')} of {topic}")
    else:
        in_all = f"{result.rows_in_all:,} in {counted(result.files, 'file')}, {result.size_bytes:,} bytes in all"
        note(f"{screen.summary('record', f'of {topic} into {directory}')}; {in_all}")
