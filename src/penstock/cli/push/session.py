"""The push client of one command, with its settings and the exit codes of its errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.kafka.client_settings import client_settings
from penstock.cli.kafka.command_config import security_properties
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.rights import Right, refusal

if TYPE_CHECKING:
    from penstock.client.push.client import BrokerClient

DEFAULT_HOST, DEFAULT_PORT = "localhost", 9999
DEFAULT_TIMES_S = 30.0, 30.0
_PROPERTY = re.compile(r"\b(security\.protocol|sasl\.|ssl\.)")


@contextlib.contextmanager
def connected(
    host: str, port: int, command_config: Path | None, client_id: str | None = None, *, act: str, needs: Sequence[Right]
) -> Iterator[BrokerClient]:
    """Yield a connected client; its errors become a message and an exit code.

    `act` is what the command does, and `needs` the rights for it: the broker's refusal is but a code.
    """
    from penstock.client.push.client import BrokerClient
    from penstock.client.push.errors import (
        BrokerClientError,
        BrokerRefused,
        LoginFailed,
        NotConnected,
        ProtocolError,
        RequestTimeout,
        UnknownSubscription,
        UnknownTopic,
    )

    request_timeout, heartbeat_interval = _times()
    security = security_properties(command_config)
    try:
        with BrokerClient(host, port, client_id, request_timeout, heartbeat_interval, security=security) as client:
            yield client
    except LoginFailed as error:
        hint = "" if ";" in str(error) else "; check sasl.username and sasl.password"
        raise CommandError(_with_file(f"{error}{hint}")) from error
    except (UnknownTopic, UnknownSubscription) as error:
        raise CommandError(str(error), ExitCode.NOT_FOUND) from error
    except (NotConnected, RequestTimeout, ProtocolError) as error:
        raise CommandError(_with_file(str(error)), exit_code_of(error)) from error
    except BrokerRefused as error:
        raise refusal(error.code, act, needs) or CommandError(str(error)) from error
    except BrokerClientError as error:
        raise CommandError(str(error)) from error
    except ValueError as error:  # such as a name that is too long for the protocol
        raise CommandError(str(error), ExitCode.USAGE) from error


def exit_code_of(error: Exception) -> ExitCode:
    """A broker that is not trusted, or does not let us in, has been reached, and another attempt does not help."""
    from penstock.client.push.refusal import is_refusal

    return ExitCode.FAILURE if is_refusal(error) else ExitCode.UNREACHABLE


def _with_file(text: str) -> str:
    """A text that names properties, with the option that takes them."""
    return f"{text}; properties are in the file of --command-config" if _PROPERTY.search(text) else text


def _times() -> tuple[float, float]:
    """Return the request timeout and the heartbeat interval, from the section client of the settings."""
    settings = client_settings("PENSTOCK_CLIENT__")
    if settings is None:
        return DEFAULT_TIMES_S
    return settings.client.request_timeout_ms / 1000, settings.client.heartbeat_interval_ms / 1000
