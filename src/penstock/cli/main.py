"""The `penstock` command: the list of its subcommands, and what happens to an error.

Each group of commands is a file of its own. They import what they need inside their functions, so that
`penstock --help` and completion do not load the Kafka library, the settings or the broker.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from penstock import __version__
from penstock.cli import client_metrics, config, group, log, pipeline, quota, topic, transaction
from penstock.cli.archive import archive
from penstock.cli.bench import bench
from penstock.cli.client import explain_stray
from penstock.cli.consume import consume
from penstock.cli.demo import demo
from penstock.cli.errors import CommandError
from penstock.cli.load import load
from penstock.cli.produce import produce
from penstock.cli.replay import replay
from penstock.cli.serve import serve

app = typer.Typer(
    name="penstock",
    help="A Kafka-compatible streaming system: serve a broker, and work with any Kafka broker.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 no broker, 4 not found, 5 damage found.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(serve)
app.command()(produce)
app.command()(consume)
app.command()(load)
app.command()(archive)
app.command()(replay)
app.command()(bench)
app.add_typer(topic.app, name="topic")
app.add_typer(group.app, name="group")
app.add_typer(transaction.app, name="transaction")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(client_metrics.app, name="client-metrics")
app.add_typer(quota.app, name="quota")
app.add_typer(log.app, name="log")
app.add_typer(config.app, name="config")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    try:
        app(prog_name="penstock")
    except CommandError as error:
        _fail(error)
    except Exception as error:
        explained = explain_stray(error)
        if explained is None:
            raise
        _fail(explained)


def _fail(error: CommandError) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.write(f"penstock: {error}\n")
    sys.exit(error.code)
