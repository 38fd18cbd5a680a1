"""Flags for settings, of `penstock serve`, `penstock config show` and `penstock consumers run --serve`.

`takes_settings` adds them to a command, which gets them as one `SettingsFlags`. Those of `SERVER` are the names under
which other brokers have the same settings (`config.references.server`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.log_flag import LogLevel, parse_log_level
from penstock.cli.shared_options import shared_options
from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.config.given_value import GivenValue
    from penstock.config.loading import Loaded

ELSEWHERE = "Names of other brokers"


def _port(option: str, text: str, panel: str | None = None) -> Any:
    return Annotated[int | None, typer.Option(option, min=0, max=65535, help=text, rich_help_panel=panel)]


def _elsewhere(kind: Any, option: str, text: str) -> Any:
    return Annotated[kind, typer.Option(option, help=text, rich_help_panel=ELSEWHERE)]


# Parameters by name; their options have dashes for underscores.
OWN: Mapping[str, Any] = {
    "data_dir": Annotated[Path | None, typer.Option("--data-dir", metavar="DIR", help="Directory for all data.")],
    "host": Annotated[str | None, typer.Option("--host", metavar="ADDR", help="Address to listen on.")],
    "kafka_port": _port("--kafka-port", "Port for Kafka clients; 0 takes a free one."),
    "http_port": _port("--http-port", "Port of the REST API, /health and /metrics; 0 takes a free one."),
    "push_port": _port("--push-port", "Port for push clients; 0 takes a free one."),
    "insecure": Annotated[
        bool | None,
        typer.Option("--insecure", help="Start although other machines reach a door that is open to everyone."),
    ],
    "config": Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Settings file (or PENSTOCK_CONFIG).")
    ],
    "log_level": LogLevel,
    "set": Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any setting, such as storage.flush=os; see `config show`."),
    ],
}
SERVER: Mapping[str, Any] = {
    "port": _port("--port", "Same as --kafka-port.", ELSEWHERE),
    "metrics_port": _port("--metrics-port", "Same as --http-port.", ELSEWHERE),
    "enable_consumer_groups": _elsewhere(
        bool | None, "--enable-consumer-groups", "No effect: they are always enabled."
    ),
    "enable_tls": _elsewhere(bool | None, "--enable-tls", "Same as --set security.protocol=SSL."),
    "tls_cert": _elsewhere(str | None, "--tls-cert", "Same as --set tls.certificate_file=FILE."),
    "tls_key": _elsewhere(str | None, "--tls-key", "Same as --set tls.key_file=FILE."),
    "enable_acl": _elsewhere(bool | None, "--enable-acl", "Same as --set acl.enabled=true."),
    "acl_config": _elsewhere(str | None, "--acl-config", "Same as --set acl.policy_file=FILE."),
}
# The settings of each flag. --host is for Kafka and HTTP; --set can give one of them another address.
_SETTINGS = {
    "data_dir": ("node.data_dir",),
    "host": ("kafka.host", "http.host"),
    "kafka_port": ("kafka.port",),
    "http_port": ("http.port",),
    "push_port": ("push.port",),
    "insecure": ("security.insecure",),
}


class SettingsFlags:
    """The flags that were given."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = {name: value for name, value in values.items() if value not in (None, [])}

    @property
    def log_level(self) -> str | None:
        return self._values.get("log_level")

    def options(self) -> list[str]:
        return [_option(name) for name in self._values]

    def load(self, more: Mapping[str, str] | None = None, *, environ: Mapping[str, str] | None = None) -> Loaded:
        """Load all settings, with `more` from the command itself. Mistakes end the command, each on its own line.

        `environ` is the environment, that of the process if it is not given.
        """
        from penstock.config.given_value import GivenValue
        from penstock.config.loading import ConfigError, load
        from penstock.observability.logs import logger_name

        flags = [*self._given(), *(GivenValue(key, value, "command line") for key, value in (more or {}).items())]
        try:
            loaded = load(self._values.get("config"), environ, flags)
            for module in loaded.settings.logging.modules:
                logger_name(module)
        except ConfigError as error:
            raise CommandError("\npenstock: ".join(error.problems), ExitCode.USAGE) from error
        except ValueError as error:
            raise CommandError(str(error), ExitCode.USAGE) from error
        return loaded

    def _given(self) -> Iterator[GivenValue]:
        from penstock.config.given_value import GivenValue

        assigned = self._assigned()
        specific = {item.key for item in assigned}
        for name, value in self._values.items():
            origin = f"command line, {_option(name)}"
            if name in SERVER:
                yield GivenValue(name, value, origin)
            for key in _SETTINGS.get(name, ()):
                if name != "host" or key not in specific:
                    yield GivenValue(key, value, origin)
        level, modules = parse_log_level(self.log_level)
        if level is not None:
            yield GivenValue("logging.level", level, "command line, --log-level")
        if modules:
            yield GivenValue("logging.modules", modules, "command line, --log-level")
        yield from assigned

    def _assigned(self) -> list[GivenValue]:
        from penstock.config.given_value import GivenValue, Problems
        from penstock.config.settings import MAPPINGS, keys

        known = keys()
        given = []
        for item in self._values.get("set", ()):
            name, equals, value = item.partition("=")
            if not equals:
                name = f" {item}" if item in known else ""  # anything else may be a secret
                raise CommandError(f"--set{name} is not NAME=VALUE, such as storage.flush=os", ExitCode.USAGE)
            if name not in known and not any(name.startswith(f"{mapping}.") for mapping in MAPPINGS):
                problems = Problems()
                problems.unknown(name, "--set", known)
                raise CommandError(problems[0], ExitCode.USAGE)
            given.append(GivenValue(name, value, "command line, --set"))
        return given


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def takes_settings(flags: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add flags to a command, after its own parameters; it gets them as its parameter `flags`."""
    return shared_options("flags", flags, SettingsFlags)
