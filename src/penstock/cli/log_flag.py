"""--log-level of the commands that serve: a level, levels by module, or both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.config.log_levels import LogLevels

LogLevel = Annotated[
    str | None,
    typer.Option("--log-level", metavar="LEVEL|MODULE=LEVEL,…", help="INFO, or storage=DEBUG, or WARNING,net=INFO."),
]


def parse_log_level(text: str | None) -> LogLevels:
    """Parse the value of --log-level; a mistake ends the command."""
    from penstock.config.log_levels import parse_log_levels
    from penstock.observability.logs import logger_name

    try:
        levels = parse_log_levels(text)
        for module in levels.modules:
            logger_name(module)
    except ValueError as error:
        raise CommandError(f"--log-level {text!r}: {error}", ExitCode.USAGE) from error
    return levels


def configure_logs_by_flag(text: str | None) -> None:
    """Set up the logs of a command that has no settings file."""
    from penstock.observability.logs import configure_logs

    level, modules = parse_log_level(text)
    configure_logs(level or "INFO", modules)
