"""`--command-config`: properties of the client from a file, as Kafka's tools have it. Secrets belong there.

Every command with --bootstrap-server has it (`takes_command_config`). The names are Java's or those of librdkafka.

security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.username=admin
sasl.password=…
"""

from __future__ import annotations

import functools
import inspect
import os
import shlex
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import note

_OTHERS = 0o077
_SECRET_ENDINGS = ("password", "passphrase", "secret")  # of stores and of OAuth: read by others' clients, not by ours

CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        envvar="PENSTOCK_COMMAND_CONFIG",
        help="File with properties of the client, NAME=VALUE in each line, such as sasl.username and sasl.password.",
    ),
]


def read_command_config(path: Path | None) -> list[str]:
    """The properties of a file, each as NAME=VALUE."""
    if path is None:
        return []
    from penstock.client.security.properties import SecurityProblem
    from penstock.client.security.property_file import parse_properties

    try:
        with path.open() as file:
            mode = os.fstat(file.fileno()).st_mode
            found = parse_properties(file.read())
    except OSError as error:
        raise CommandError(f"--command-config {path}: {error.strerror}", ExitCode.NOT_FOUND) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"--command-config {path} is not text", ExitCode.USAGE) from error
    except SecurityProblem as problem:
        raise CommandError(f"--command-config {path}: {problem}", ExitCode.USAGE) from None
    if _is_shared(mode) and any(value and _is_secret(name) for name, value in found.items()):
        _warn(path, stat.S_IMODE(mode))
    return [f"{name}={value}" for name, value in found.items()]


def _is_shared(mode: int) -> bool:
    return stat.S_ISREG(mode) and bool(mode & _OTHERS)


def _is_secret(name: str) -> bool:
    from penstock.client.security.properties import SECRETS

    return name in SECRETS or name.endswith(_SECRET_ENDINGS)


@functools.cache  # once for a file: a command may read it for each of its connections
def _warn(path: Path, mode: int) -> None:
    remedy = f"chmod 600 {shlex.quote(str(path.absolute()))}"
    note(f"penstock: {path} has a secret and is open to other users of this machine ({mode:04o}); run: {remedy}")


def warn_of_arguments(given: Mapping[str, str]) -> None:
    """Say which secrets are among the properties that the command was given as arguments."""
    for name in sorted(given):
        if given[name] and _is_secret(name):
            _warn_of_argument(name)


@functools.cache  # once for a command, which may connect several times
def _warn_of_argument(name: str) -> None:
    where = "is on the command line, which every user of this machine can read"
    note(f"penstock: {name} {where}; put it into a file with mode 600, and name that with --command-config")


def security_properties(path: Path | None) -> dict[str, str]:
    """The properties of a file that are about security; others are for Kafka clients."""
    from penstock.client.security.properties import NAMES

    pairs = (line.split("=", 1) for line in read_command_config(path))
    return {name: value for name, value in pairs if name in NAMES}


_NAME = "command_config"
_named: Path | None = None  # by the command that runs


def takes_command_config(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option to a command that talks to a broker; `client.connect` uses it."""
    own = inspect.signature(command, eval_str=True).parameters
    if "bootstrap_server" not in own or _NAME in own:
        return command

    @functools.wraps(command)
    def run(**values: Any) -> None:
        global _named
        _named = values.pop(_NAME)
        command(**values)

    kept = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own.values()]
    added = inspect.Parameter(_NAME, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=CommandConfig)
    run.__signature__ = inspect.Signature([*kept, added])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in [*kept, added]}
    return run


def named_file() -> Path | None:
    """The file that the command was given."""
    return _named


def name_file(path: Path) -> None:
    """Use another file from now on: that of a pipeline's project."""
    global _named
    _named = path


def named_properties() -> list[str]:
    """The properties of the file that the command was given."""
    return read_command_config(_named)
