"""Consumers in their own process: signals, metrics and exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
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
    listening = None if metrics_port is None else _bound(metrics_port)
    try:
        asyncio.run(_run(definitions, address, client_id, security, metrics, listening, stop_timeout_s))
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
    listening: socket.socket | None,
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
    async with _metrics_page(metrics, listening):
        await run(runner, asked_to_stop)
    logger.info("stopped")


def _bound(metrics_port: int) -> socket.socket:
    from penstock.node.consumers.metrics_port import bind_metrics
    from penstock.node.errors import StartError

    try:
        return bind_metrics(metrics_port)
    except StartError as error:
        raise CommandError(str(error)) from error


@contextlib.asynccontextmanager
async def _metrics_page(metrics: ConsumerMetrics, listening: socket.socket | None) -> AsyncIterator[None]:
    """The page of --metrics-port, if it was asked for."""
    if listening is None:
        yield
        return
    from penstock.node.consumers.metrics_port import serving_metrics

    async with serving_metrics(metrics, listening):
        yield
