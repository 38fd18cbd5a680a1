"""Consumers in their own process: signals, metrics and exit codes."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.cli.log_flag import configure_logs_by_flag
from penstock.cli.push.session import exit_code_of
from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.client.address import Address
    from penstock.consumers.definition import Definition
    from penstock.consumers.metrics import ConsumerMetrics

logger = logging.getLogger(__name__)


def run_consumers(
    modules: Sequence[str],
    broker: str,
    client_id: str | None,
    security: Mapping[str, str],
    metrics_port: int | None,
    stop_timeout_s: float,
    log_level: str | None,
) -> None:
    from penstock.client.address import parse_addresses
    from penstock.client.push.errors import BrokerClientError, NotConnected, UnknownTopic
    from penstock.consumers.discovery import discover
    from penstock.consumers.errors import ConsumerError
    from penstock.consumers.metrics import ConsumerMetrics

    configure_logs_by_flag(log_level)
    try:
        address = parse_addresses(broker)[0]
        definitions = discover(modules)
    except (ConsumerError, ValueError) as error:
        raise CommandError(str(error), ExitCode.USAGE) from error
    metrics = ConsumerMetrics()
    if metrics_port is not None:
        _serve_metrics(metrics, metrics_port)
    try:
        asyncio.run(_run(definitions, address, client_id, security, metrics, stop_timeout_s))
    except UnknownTopic as error:
        raise CommandError(str(error), ExitCode.NOT_FOUND) from error
    except NotConnected as error:
        raise CommandError(str(error), exit_code_of(error)) from error
    except BrokerClientError as error:
        raise CommandError(str(error)) from error


async def _run(
    definitions: Sequence[Definition],
    address: Address,
    client_id: str | None,
    security: Mapping[str, str],
    metrics: ConsumerMetrics,
    stop_timeout_s: float,
) -> None:
    from penstock.client.security.properties import SecurityProblem
    from penstock.consumers.runner import Runner, run

    asked_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop.set)
    try:
        runner = Runner(
            definitions,
            host=address.host,
            port=address.port,
            metrics=metrics,
            client_id=client_id,
            stop_timeout_s=stop_timeout_s,
            security=security,
        )
    except SecurityProblem as problem:
        raise CommandError(str(problem), ExitCode.USAGE) from problem
    await run(runner, asked_to_stop)
    logger.info("stopped")


def _serve_metrics(metrics: ConsumerMetrics, port: int) -> None:
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    try:
        server, _ = start_http_server(port, addr="127.0.0.1", registry=registry)
    except OSError as error:
        raise CommandError(
            f"port {port} cannot be opened ({error.strerror})", hint="choose another --metrics-port"
        ) from error
    logger.info("metrics", extra={"host": "127.0.0.1", "port": server.server_port})
