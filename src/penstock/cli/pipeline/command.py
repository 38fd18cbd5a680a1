"""`penstock pipeline`: create, validate, run and inspect projects of Spark Declarative Pipelines over topics."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.kafka.client import DEFAULT_SERVER, parse_pairs
from penstock.cli.kafka.command_config import name_file, named_file
from penstock.cli.kafka.topic import OutputOption
from penstock.cli.pipeline.events import UpdateProgress
from penstock.cli.pipeline.init import copy_example, make_project
from penstock.cli.pipeline.project import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    Project,
    check_no_secret,
    find_projects,
    open_project,
)
from penstock.cli.pipeline.run import run_project, validate_project
from penstock.cli.pipeline.status import describe, print_status
from penstock.cli.pipeline.update import Wanted, parse_where
from penstock.cli.terminal.duration import parse_seconds
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Data pipelines on Spark, from topics to tables to topics.")

PROJECT = Path()
ProjectPath = Annotated[Path, typer.Argument(metavar="[PROJECT]", help="Directory of the project. Default: this one.")]
Master = Annotated[
    str | None, typer.Option("--master", metavar="URL", help="Run on this cluster, such as spark://host:7077.")
]
Remote = Annotated[
    str | None, typer.Option("--remote", metavar="URL", help="Use a running Spark Connect server: sc://host:15002.")
]
Conf = Annotated[
    list[str] | None, typer.Option("--conf", "-c", metavar="NAME=VALUE", help="Override the configuration of the spec.")
]
Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        metavar="ADDR",
        envvar="PENSTOCK_BOOTSTRAP_SERVER",
        help=f"Broker to use, instead of the spec's {BOOTSTRAP}.",
    ),
]


@app.command()
def init(
    name: Annotated[Path, typer.Argument(metavar="NAME", help="Directory to create.")],
    topic: Annotated[str, typer.Option("--topic", "-t", help="Topic to read.")] = "events",
    example: Annotated[str | None, typer.Option("--example", help="Copy an example instead: prices.")] = None,
    bootstrap_server: Bootstrap = None,
) -> None:
    """Create a project that is ready to run: a topic as a table, and a view of it."""
    named = named_file()
    properties = "" if named is None else str(named.absolute())
    if example:
        copy_example(example, name, bootstrap=bootstrap_server, command_config=properties)
    else:
        make_project(name, topic=topic, bootstrap=bootstrap_server or DEFAULT_SERVER, command_config=properties)
    note(f"created {name}; `penstock pipeline run {name}` runs it, and {name / 'README.md'} describes it")


@app.command()
def validate(
    project: ProjectPath = PROJECT,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    bootstrap_server: Bootstrap = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check every definition without reading or writing data."""
    opened = open_project(project)
    wanted = Wanted(dry=True, conf=_conf(opened, conf, bootstrap_server))
    progress, log = validate_project(opened, parse_where(master, remote), wanted)
    if output is Output.JSON:
        print_json({"project": opened.name, "valid": not progress.error, "error": progress.error})
    _fail_if_failed(opened, progress, log)
    if output is Output.TABLE:
        note(f"{opened.name} is valid")


@app.command()
def run(
    project: ProjectPath = PROJECT,
    full_refresh: Annotated[
        bool, typer.Option("--full-refresh", help="Discard tables and checkpoints, and start from scratch.")
    ] = False,
    table: Annotated[list[str] | None, typer.Option("--table", "-t", metavar="NAME", help="Update only these.")] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Repeat until Ctrl-C.")] = False,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="With --watch: pause between updates.")] = "5s",
    show: Annotated[
        list[str] | None, typer.Option("--show", metavar="TABLE", help="Print this table afterwards.")
    ] = None,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    bootstrap_server: Bootstrap = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Bring the tables up to date with the topics, once or, with --watch, again and again."""
    if watch and full_refresh:
        raise CommandError("--watch with --full-refresh would start from scratch each time", ExitCode.USAGE)
    opened = open_project(project)
    wanted = Wanted(
        full_refresh=full_refresh,
        tables=tuple(table or ()),
        every_s=_pause(every) if watch else None,
        show=tuple(show or ()),
        conf=_conf(opened, conf, bootstrap_server),
    )
    progress, log = run_project(opened, parse_where(master, remote), wanted)
    if output is Output.JSON:
        print_json(_document(opened, progress))
    _fail_if_failed(opened, progress, log)
    if output is Output.TABLE and progress.outcome == "completed":
        for shown in progress.shown:
            if not shown.get("error"):
                print_shown(shown)
        rows = ", ".join(f"{name} {count:,}" for name, count in progress.tables.items())
        note(f"{opened.name} is up to date after {progress.seconds:.1f} s; rows: {rows or 'no tables'}")
    if unshown := [f"{shown['table']}: {shown['error']}" for shown in progress.shown if shown.get("error")]:
        raise CommandError(f"the update is done, but a table cannot be shown; {'; '.join(unshown)}", ExitCode.NOT_FOUND)


@app.command()
def status(
    project: ProjectPath = PROJECT,
    bootstrap_server: Bootstrap = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the last run, the tables, and how far behind their topics the flows are."""
    opened = open_project(project)
    _use_properties(opened)
    described = describe(opened, bootstrap_server)
    if output is Output.JSON:
        print_json(described)
    else:
        print_status(described)


@app.command("list")
def list_projects(
    directory: Annotated[Path, typer.Argument(metavar="[DIRECTORY]")] = PROJECT,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the projects below a directory."""
    if not directory.is_dir():
        raise CommandError(f"{directory} is not a directory", ExitCode.NOT_FOUND)
    rows = []
    for spec in find_projects(directory):
        try:
            described = describe(open_project(spec), None, ask_broker=False)
            rows.append({"project": described["project"], "directory": str(spec.parent), "last_run": described["run"]})
        except CommandError as error:
            rows.append({"project": "", "directory": str(spec.parent), "last_run": None, "error": str(error)})
    if output is Output.JSON:
        print_json(rows)
    elif rows:
        print_table(["project", "directory", "last run"], [_list_row(row) for row in rows])
    else:
        note(f"no projects below {directory}; create one with `penstock pipeline init NAME`")


def _list_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    found = row["last_run"]
    last = row.get("error") or (f"{found['state']}, {found['started']}" if found else "never")
    return row["project"] or None, row["directory"], last


def print_shown(shown: Mapping[str, Any]) -> None:
    numbers = [
        name
        for index, name in enumerate(shown["columns"])
        if any(isinstance(row[index], int | float) for row in shown["rows"])
    ]
    print_table(shown["columns"], shown["rows"], title=shown["table"], numbers=numbers)


def _document(project: Project, progress: UpdateProgress) -> dict[str, Any]:
    return {
        "project": project.name,
        "state": progress.outcome,
        "seconds": round(progress.seconds, 3),
        "error": progress.error,
        "tables": progress.tables,
        "flows": [flow.document() for flow in progress.flows.values()],
        "shown": progress.shown,
    }


def _fail_if_failed(project: Project, progress: UpdateProgress, log: Path) -> None:
    if progress.outcome != "failed":
        return
    if progress.missing:
        raise CommandError(f"--show: {progress.error}", ExitCode.NOT_FOUND)
    flow = next((flow.name for flow in progress.flows.values() if flow.state == "failed"), "")
    where = f"{project.name}, flow {flow}" if flow else project.name
    raise CommandError(f"{where}: {progress.error}", hint=f"the full log is {log}")


def _conf(project: Project, items: list[str] | None, bootstrap: str | None) -> dict[str, str]:
    conf = parse_pairs(items, "--conf") | ({BOOTSTRAP: bootstrap} if bootstrap else {})
    for name, value in conf.items():
        check_no_secret("--conf", name, value)
    named = _use_properties(project)
    return conf | ({COMMAND_CONFIG: str(named.absolute())} if named is not None else {})


def _use_properties(project: Project) -> Path | None:
    """The file of --command-config, or else that of the project, for this command and for Spark."""
    named = named_file() or project.command_config
    if named is not None:
        name_file(named)
    return named


def _pause(text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError as error:
        raise CommandError(f"--every {text!r}: {error}", ExitCode.USAGE) from None
