"""Settings that protect the port of `penstock registry serve` and `penstock edge`: those of a node's HTTP port.

A settings file, `--set` and the variables of these settings are read. Settings that such a process does not have are
refused, so that nobody believes in a protection that is not there; variables of others may be those of a node.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli.settings_flags import OWN, SettingsFlags
from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.config.settings import Settings

PORT: Final[Mapping[str, Any]] = {
    "config": Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="File with settings of the port: tls, acl, …")
    ],
    "set": Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the port, such as security.protocol=SASL_SSL."),
    ],
    "insecure": OWN["insecure"],
}
"""The flags, for `takes_settings`."""
_SECTIONS: Final = ("tls", "acl")
_OTHERS: Final = frozenset(
    {
        "security.protocol",
        "security.insecure",
        "security.users_file",
        "security.authenticator",
        "security.authenticator_options",
        "security.authenticator_timeout_ms",
        "security.authenticator_threads_max",
        "security.authenticator_remember_ms",
        "sasl.enabled_mechanisms",
        "sasl.failed_authentication_delay_ms",
        "sasl.scram_iterations",
        "http.allowed_hosts",
        "http.header_timeout_ms",
        "http.idle_timeout_ms",
        "http.stall_timeout_ms",
    }
)


def load_port_settings(flags: SettingsFlags) -> Settings:
    """The settings of the port. Mistakes, and settings that it does not have, end the command; warnings are logged."""
    import logging

    loaded = flags.load(environ=_environment())
    if loaded.mistrust is not None:
        raise CommandError(loaded.mistrust, ExitCode.USAGE)
    for key, origin in loaded.origins.items():
        if origin != "default" and not _is_of_port(key) and "environment variable" not in origin:
            known = ", ".join((*(f"{section}.…" for section in _SECTIONS), *sorted(_OTHERS)))
            raise CommandError(f"{origin}: {key} is a setting of nodes and has no effect here; there are {known}",
                               ExitCode.USAGE)  # fmt: skip
    for warning in loaded.warnings:
        logging.getLogger(__name__).warning(warning)
    return loaded.settings


def _is_of_port(key: str) -> bool:
    return key in _OTHERS or key.partition(".")[0] in _SECTIONS


def _environment() -> dict[str, str]:
    """The environment without the variables of other settings."""
    from penstock.config.environment import variable_name
    from penstock.config.references import VARIABLES
    from penstock.config.settings import keys

    others = {variable_name(key) for key in keys() if not _is_of_port(key)} | {"PENSTOCK_CONFIG", *VARIABLES}
    return {name: value for name, value in os.environ.items() if name not in others}
