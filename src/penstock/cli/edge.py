"""`penstock edge`: run the consumer application in the foreground until SIGTERM or Ctrl-C."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.kafka.command_config import CommandConfig, security_properties
from penstock.cli.log_flag import configure_logs_by_flag
from penstock.cli.port_settings import PORT, load_port_settings
from penstock.cli.settings_flags import SettingsFlags, takes_settings
from penstock.cli.terminal.errors import CommandError, ExitCode

Type = Annotated[
    str,
    typer.Option("--type", envvar="CONSUMER_TYPE", metavar="TYPE", help="price, plain, or a type of another package."),
]
Topic = Annotated[str, typer.Option("--topic", envvar="CONSUMER_TOPIC", metavar="TOPIC", help="Topic to consume.")]
Group = Annotated[
    str,
    typer.Option(
        "--group", envvar="CONSUMER_GROUP", metavar="GROUP", help="Group under which the broker keeps the position."
    ),
]
Host = Annotated[str, typer.Option("--host", envvar="CONSUMER_HOST", metavar="ADDR", help="Address to listen on.")]
Port = Annotated[
    int,
    typer.Option("--port", envvar="CONSUMER_PORT", min=0, max=65535, help="Port of the REST API; 0 takes a free one."),
]
BrokerHost = Annotated[
    str, typer.Option("--broker-host", envvar="BROKER_HOST", metavar="HOST", help="Host of the broker.")
]
BrokerPort = Annotated[
    int,
    typer.Option("--broker-port", envvar="BROKER_PORT", min=1, max=65535, help="Its push port, or its Kafka port."),
]
DataDir = Annotated[
    Path, typer.Option("--data-dir", envvar="STORAGE_DATA_DIR", metavar="DIR", help="Directory for all data.")
]
AllowedHosts = Annotated[
    list[str],
    typer.Option(
        "--allowed-host",
        envvar="CONSUMER_ALLOWED_HOSTS",
        metavar="NAME",
        help="Name under which clients address the port, if not localhost, an address or the machine's; repeatable.",
    ),
]
LogLevel = Annotated[
    str | None, typer.Option("--log-level", metavar="LEVEL|MODULE=LEVEL,…", help="INFO, or edge=DEBUG.")
]


@takes_settings(PORT)
def edge(
    flags: SettingsFlags,
    consumer_type: Type = "price",
    topic: Topic = "price-topic",
    group: Group = "price-group",
    host: Host = "127.0.0.1",
    port: Port = 8082,
    broker_host: BrokerHost = "localhost",
    broker_port: BrokerPort = 9999,
    data_dir: DataDir = Path("./consumer-data"),
    allowed_host: AllowedHosts = [],  # noqa: B006  typer's default, which nobody changes
    command_config: CommandConfig = None,
    log_level: LogLevel = None,
) -> None:
    """Keep a copy of a topic and serve it over HTTP, until SIGTERM or Ctrl-C.

    Messages arrive over the push protocol and are acknowledged when they are on disk. Stored messages are served even
    while the broker is away.

    --command-config has the login at the broker; --config and --set give the port of the REST API TLS, logins and
    rules, as those of a node's HTTP port (docs/security.md).
    """
    from penstock.client.security.properties import ClientSecurity, SecurityProblem
    from penstock.edge.settings import EdgeSettings
    from penstock.model.text.http_url import check_no_credentials
    from penstock.node.errors import SettingsError, StartError

    configure_logs_by_flag(log_level)
    protection = load_port_settings(flags)
    try:
        check_no_credentials(f"//{broker_host}")
    except ValueError as error:
        raise CommandError(f"--broker-host (BROKER_HOST): {error}", ExitCode.USAGE) from None
    security = security_properties(command_config)
    try:
        ClientSecurity.of(security)
    except SecurityProblem as problem:
        raise CommandError(f"--command-config: {problem}", ExitCode.USAGE) from None
    settings = EdgeSettings(
        type=consumer_type,
        topic=topic,
        group=group,
        host=host,
        port=port,
        broker_host=broker_host,
        broker_port=broker_port,
        data_dir=data_dir,
        allowed_hosts=tuple(allowed_host),
        security=security,
    )
    from penstock.node.edge_server import serve_edge

    try:
        code = serve_edge(settings, protection)
    except SettingsError as error:
        raise CommandError(str(error).replace("\n", "\npenstock: "), ExitCode.USAGE) from error
    except StartError as error:
        raise CommandError(str(error)) from error
    sys.stderr.flush()
    raise typer.Exit(code)
