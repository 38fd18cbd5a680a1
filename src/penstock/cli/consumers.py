"""`penstock consumers`: run the message handlers of modules, alone or in the process of a broker."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.kafka.command_config import CommandConfig, security_properties
from penstock.cli.settings_flags import OWN, SettingsFlags, takes_settings
from penstock.cli.terminal.errors import CommandError, ExitCode

app = typer.Typer(no_args_is_help=True, help="Run consumers: classes and functions that handle a topic's messages.")

Modules = Annotated[
    list[str], typer.Argument(metavar="MODULE...", help="Name of a Python module, or path of its file.")
]


@app.callback()
def _group() -> None:
    """Run consumers: classes and functions that handle a topic's messages."""


@app.command()
@takes_settings(OWN)
def run(
    flags: SettingsFlags,
    modules: Modules,
    broker: Annotated[
        str, typer.Option("--broker", "-b", metavar="ADDR", help="host:port of the push port of a broker.")
    ] = ("localhost:9999"),
    client_id: Annotated[
        str | None, typer.Option("--client-id", help="Name of the client. Default: a generated one.")
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", min=0, max=65535, help="Serve /metrics on this port; 0 takes a free one."),
    ] = None,
    stop_timeout: Annotated[
        float,
        typer.Option("--stop-timeout", min=0, metavar="SECONDS", help="How long to wait for handlers when stopping."),
    ] = 30.0,
    command_config: CommandConfig = None,
    serve: Annotated[bool, typer.Option("--serve", help="Run a broker in the same process as well.")] = False,
) -> None:
    """Run the consumers of modules until SIGTERM or Ctrl-C.

    Messages that are being handled then are finished and acknowledged. With --serve this is `penstock serve` with the
    setting consumers.modules; the options from --data-dir on are for --serve only.
    """
    if serve:
        from penstock.cli.serve import run_broker

        run_broker(flags.load({"consumers.modules": ",".join(modules)}))
        return
    for option in flags.options():
        if option != "--log-level":
            raise CommandError(f"{option} is an option of a broker", ExitCode.USAGE, hint="add --serve to run one")
    from penstock.cli.consumers_run import run_consumers

    security = security_properties(command_config)
    run_consumers(modules, broker, client_id, security, metrics_port, stop_timeout, flags.log_level)
