"""Settings of the client commands, from the environment or from the file that PENSTOCK_CONFIG names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.config.settings import Settings


def client_settings(*prefixes: str) -> Settings | None:
    """Load the settings, or return None if no file and no variable with one of the prefixes is given.

    All settings have their defaults then, and loading them would take longer than the command.
    """
    if not any(value and name.startswith(("PENSTOCK_CONFIG", *prefixes)) for name, value in os.environ.items()):
        return None
    from penstock.config.loading import ConfigError, load_settings

    try:
        return load_settings()
    except ConfigError as error:
        raise CommandError("\npenstock: ".join(error.problems), ExitCode.USAGE) from error


def producer_properties() -> Mapping[str, int]:
    """Return librdkafka's properties for the section producer."""
    settings = client_settings("PENSTOCK_PRODUCER__")
    if settings is None:
        return {}
    given = {"batch.size": settings.producer.batch_size, "linger.ms": settings.producer.linger_ms}
    return {name: value for name, value in given.items() if value is not None}


def consumer_properties() -> Mapping[str, int]:
    """Return librdkafka's properties for the section consumer."""
    settings = client_settings("PENSTOCK_CONSUMER__")
    if settings is None:
        return {}
    section = settings.consumer
    given = {"session.timeout.ms": section.session_timeout_ms, "heartbeat.interval.ms": section.heartbeat_interval_ms}
    return {name: value for name, value in given.items() if value is not None}
