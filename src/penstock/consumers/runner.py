"""Runner of consumers: one connection, and a worker for each consumer, until it is asked to stop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping, Sequence

from penstock.client.push.async_client import AsyncBrokerClient
from penstock.client.push.errors import BrokerClientError
from penstock.consumers.definition import Definition
from penstock.consumers.metrics import ConsumerMetrics
from penstock.consumers.worker import Worker

logger = logging.getLogger(__name__)

STOP_TIMEOUT_S = 30.0


class Runner:
    """Runs consumers: `start`, then `wait` until something is wrong, then `stop`; all on one loop."""

    def __init__(
        self,
        definitions: Sequence[Definition],
        *,
        host: str,
        port: int,
        metrics: ConsumerMetrics,
        client_id: str | None = None,
        stop_timeout_s: float = STOP_TIMEOUT_S,
        security: Mapping[str, str] | None = None,
        dial: Callable[[], socket.socket] | None = None,
    ) -> None:
        """`security` has properties of the client under Kafka's names, such as sasl.username. `dial` makes a connection
        where that is not done by the address.
        """
        self._client = AsyncBrokerClient(host, port, client_id, security=security, dial=dial)
        self._stop_timeout_s = stop_timeout_s
        self._failure: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._workers = [
            Worker(
                definition,
                self._client,
                metrics.probe(definition.name, definition.mark.topic, definition.mark.group),
                self._lost,
            )
            for definition in definitions
        ]

    async def start(self) -> None:
        """Start all consumers. Raises BrokerClientError if there is no broker or topic, or a group is in use."""
        await self._client.connect()
        try:
            for worker in self._workers:
                await worker.start()
        except BaseException:
            await self.stop()
            raise

    async def wait(self) -> Exception:
        """Wait until a subscription is lost, and return the reason."""
        return await self._failure

    async def stop(self) -> None:
        """Finish the current messages, acknowledge them, and leave."""
        await asyncio.gather(*(worker.stop(self._stop_timeout_s) for worker in self._workers))
        await self._client.disconnect()

    def _lost(self, error: Exception) -> None:
        if not self._failure.done():
            self._failure.set_result(error)


async def run(runner: Runner, asked_to_stop: asyncio.Event) -> None:
    """Run until asked to stop. Raises BrokerClientError if it cannot start or loses a subscription."""
    await runner.start()
    stopping = asyncio.ensure_future(asked_to_stop.wait())
    failing = asyncio.ensure_future(runner.wait())
    try:
        await asyncio.wait([stopping, failing], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        await runner.stop()
    if failing.done():
        raise BrokerClientError(f"a subscription was lost: {failing.result()}")
    failing.cancel()
