"""The flags that set settings, for `penstock serve` and `penstock config show` alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.config.loading import Loaded

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="YAML file with settings (or PENSTOCK_CONFIG)."),
]
DataDir = Annotated[Path | None, typer.Option("--data-dir", metavar="DIR", help="Where everything is stored.")]
Host = Annotated[str | None, typer.Option("--host", metavar="ADDR", help="Address to listen on.")]
KafkaPort = Annotated[
    int | None, typer.Option("--kafka-port", min=0, max=65535, help="Port for Kafka clients; 0 takes a free one.")
]
HttpPort = Annotated[
    int | None, typer.Option("--http-port", min=0, max=65535, help="Port of /health and /metrics; 0 takes a free one.")
]
PushPort = Annotated[
    int | None, typer.Option("--push-port", min=0, max=65535, help="Port for push clients; 0 takes a free one.")
]
LogLevel = Annotated[
    str | None,
    typer.Option("--log-level", metavar="LEVEL|MODULE=LEVEL,…", help="INFO, or storage=DEBUG, or WARNING,net=INFO."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting, such as storage.flush=os; see `config show`."),
]


def load_with_flags(
    config: Path | None,
    data_dir: Path | None,
    host: str | None,
    kafka_port: int | None,
    http_port: int | None,
    push_port: int | None,
    log_level: str | None,
    assignments: Sequence[str] | None,
) -> Loaded:
    """All settings; what is wrong with them ends the command, every mistake on a line of its own."""
    from penstock.config.loading import ConfigError, load
    from penstock.observability.logs import logger_name

    level, modules = split_log_level(log_level)
    flags: dict[str, object] = {
        "node.data_dir": data_dir,
        "kafka.host": host,
        "http.host": host,
        "kafka.port": kafka_port,
        "http.port": http_port,
        "push.port": push_port,
        "logging.level": level,
        "logging.modules": modules,
    }
    flags.update(_assigned(assignments))
    try:
        loaded = load(config, flags=flags)
        for module in loaded.settings.logging.modules:
            logger_name(module)
    except ConfigError as error:
        raise CommandError("\npenstock: ".join(error.problems), ExitCode.USAGE) from error
    except ValueError as error:
        raise CommandError(str(error), ExitCode.USAGE) from error
    return loaded


def split_log_level(text: str | None) -> tuple[str | None, dict[str, str] | None]:
    """'WARNING,storage=DEBUG' is a level for all and one for a module; either may be missing."""
    if not text:
        return None, None
    level: str | None = None
    modules: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        module, equals, module_level = part.partition("=")
        if equals:
            modules[module.strip()] = module_level.strip()
        elif level is None:
            level = part
        else:
            raise CommandError(f"--log-level {text!r} has two levels for everything", ExitCode.USAGE)
    return level, modules or None


def _assigned(assignments: Sequence[str] | None) -> dict[str, object]:
    from penstock.config.settings import MAPPINGS, keys
    from penstock.config.sources import Problems

    known = keys()
    values: dict[str, object] = {}
    for item in assignments or ():
        name, equals, value = item.partition("=")
        if not equals:
            raise CommandError(f"--set {item!r} is not NAME=VALUE", ExitCode.USAGE)
        if name not in known and not any(name.startswith(f"{mapping}.") for mapping in MAPPINGS):
            problems = Problems()
            problems.unknown(name, "--set", known)
            raise CommandError(problems[0], ExitCode.USAGE)
        values[name] = value
    return values
