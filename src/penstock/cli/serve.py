"""`penstock serve`: run a broker in the foreground until SIGTERM or Ctrl-C."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import typer

from penstock.cli.settings_flags import OWN, SERVER, SettingsFlags, takes_settings
from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.config.loading import Loaded


@takes_settings({**OWN, **SERVER})
def serve(flags: SettingsFlags) -> None:
    """Run a broker until SIGTERM or Ctrl-C.

    Flags take precedence over PENSTOCK_… variables, these over NODE_ID, DATA_DIR, BROKER_PORT, HTTP_PORT and
    REGISTRY_URL, and these over the settings file; a warning names every value that is overridden.
    """
    run_broker(flags.load())


def run_broker(loaded: Loaded) -> None:
    """Run a broker until a signal; CommandError if it cannot start."""
    if loaded.mistrust is not None:
        raise CommandError(loaded.mistrust, ExitCode.USAGE)
    from penstock.node.errors import SettingsError, StartError
    from penstock.observability.logs import configure_logs

    settings = loaded.settings
    configure_logs(settings.logging.level, settings.logging.modules, as_json=settings.logging.format == "json")
    for warning in loaded.warnings:
        logging.getLogger(__name__).warning(warning)
    from penstock.node.main import serve as serve_node

    try:
        code = serve_node(settings)
    except SettingsError as error:
        raise CommandError(str(error).replace("\n", "\npenstock: "), ExitCode.USAGE) from error
    except StartError as error:
        raise CommandError(str(error)) from error
    sys.stderr.flush()
    raise typer.Exit(code)
