"""The push client of one command, with its settings and the exit codes of its errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.cli.kafka.client_settings import client_settings
from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.client.push.client import BrokerClient

DEFAULT_HOST, DEFAULT_PORT = "localhost", 9999


@contextlib.contextmanager
def connected(host: str, port: int, client_id: str | None = None) -> Iterator[BrokerClient]:
    """Yield a connected client; its errors become a message and an exit code."""
    from penstock.client.push.client import BrokerClient
    from penstock.client.push.errors import (
        BrokerClientError,
        NotConnected,
        ProtocolError,
        RequestTimeout,
        UnknownSubscription,
        UnknownTopic,
    )

    try:
        with BrokerClient(host, port, client_id, **_times()) as client:
            yield client
    except (UnknownTopic, UnknownSubscription) as error:
        raise CommandError(str(error), ExitCode.NOT_FOUND) from error
    except (NotConnected, RequestTimeout, ProtocolError) as error:
        raise CommandError(str(error), ExitCode.UNREACHABLE) from error
    except BrokerClientError as error:
        raise CommandError(str(error)) from error
    except ValueError as error:  # such as a name that is too long for the protocol
        raise CommandError(str(error), ExitCode.USAGE) from error


def _times() -> dict[str, float]:
    """Return the timeouts from the section client of the settings."""
    settings = client_settings("PENSTOCK_CLIENT__")
    if settings is None:
        return {}
    return {
        "request_timeout": settings.client.request_timeout_ms / 1000,
        "heartbeat_interval": settings.client.heartbeat_interval_ms / 1000,
    }
