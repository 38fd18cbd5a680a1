"""The `penstock` command: its subcommands, and the handling of their errors.

Each group of commands has its own file, and only the named one is loaded, so that a broker does not wait for the others
to load. Help and completion load all of them. A command imports everything heavy (the Kafka library, the settings, the
broker) inside its functions.
"""

from __future__ import annotations

import gc
import importlib
import sys
from typing import Annotated, NoReturn

import typer

from penstock import __version__
from penstock.cli.kafka.command_config import takes_command_config
from penstock.cli.terminal.errors import CommandError
from penstock.model.text.printable import printable_lines

# The place of each: a function is a command, a typer app a group of commands. Help shows them in this order.
COMMANDS = {
    "demo": "penstock.cli.demo.command:demo",
    "serve": "penstock.cli.serve:serve",
    "produce": "penstock.cli.kafka.produce:produce",
    "consume": "penstock.cli.kafka.consume:consume",
    "load": "penstock.cli.bulk.load:load",
    "archive": "penstock.cli.bulk.archive:archive",
    "replay": "penstock.cli.bulk.replay:replay",
    "bench": "penstock.cli.bench.command:bench",
    "topic": "penstock.cli.kafka.topic:app",
    "group": "penstock.cli.kafka.group:app",
    "push": "penstock.cli.push.command:app",
    "consumers": "penstock.cli.consumers:app",
    "transaction": "penstock.cli.transaction.command:app",
    "pipe": "penstock.cli.pipe:app",
    "pipeline": "penstock.cli.pipeline.command:app",
    "spark": "penstock.cli.spark:app",
    "client-metrics": "penstock.cli.kafka.client_metrics:app",
    "quota": "penstock.cli.kafka.quota:app",
    "security": "penstock.cli.security.command:app",
    "registry": "penstock.cli.registry.command:app",
    "edge": "penstock.cli.edge:edge",
    "log": "penstock.cli.log.command:app",
    "config": "penstock.cli.config:app",
}

app = typer.Typer(
    name="penstock",
    help="A Kafka-compatible streaming system: run a broker, and work with any Kafka broker.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage or settings, 3 no broker, 4 not found, 5 damage found.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    if named == "serve":  # imports leave hardly any garbage, and each full search takes 15 ms of the start
        gc.disable()
    for name in [named] if named in COMMANDS else COMMANDS:
        _add(name)
    try:
        app(prog_name="penstock")
    except CommandError as error:
        _fail(error)
    except Exception as error:
        from penstock.cli.kafka.client import explain_stray

        explained = explain_stray(error)
        if explained is None:
            raise
        _fail(explained)


def _add(name: str) -> None:
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if isinstance(found, typer.Typer):
        _complete(found)
        app.add_typer(found, name=name)
    else:
        app.command(name)(takes_command_config(found))


def _complete(group: typer.Typer) -> None:
    """Give the commands of a group the options that all commands of their kind have."""
    for command in group.registered_commands:
        assert command.callback is not None
        command.callback = takes_command_config(command.callback)
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            _complete(inner.typer_instance)


def _fail(error: CommandError) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.write(printable_lines(f"penstock: {error}\n"))
    sys.exit(error.code)
