"""Consumers in the process of a broker: a thread with a loop of its own, which reaches the broker over its wire.

The wire is a pair of sockets within the process: whatever a port asks its clients for, these consumers act as the
principal that the broker's settings name, because whoever may write the settings may do everything here anyway.

So a handler that blocks does not hold up the broker, and messages reach every handler in the same way. A handler that
computes for long still takes the interpreter from the broker: it should run in a process of its own.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Sequence

from penstock.client.push.errors import BrokerClientError
from penstock.consumers.definition import Definition
from penstock.consumers.metrics import ConsumerMetrics
from penstock.consumers.runner import STOP_TIMEOUT_S, Runner, run

logger = logging.getLogger(__name__)

PAUSE_S = 1.0
INSIDE = "the broker of this process"


class HostedConsumers:
    """Started after the broker's doors are open, stopped before they close. Never fails: it logs, and tries again.

    A topic that does not exist yet must not keep a broker from serving.
    """

    def __init__(self, definitions: Sequence[Definition], dial: Callable[[], socket.socket]) -> None:
        """`dial` makes a connection to the broker; it is called by the thread of the consumers."""
        self.metrics = ConsumerMetrics()
        self._definitions = definitions
        self._dial = dial
        self._thread = threading.Thread(target=self._run, name="consumers", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked_to_stop: asyncio.Event | None = None
        self._is_running = threading.Event()

    def start(self) -> None:
        self._thread.start()
        self._is_running.wait()

    def ask_to_stop(self) -> None:
        if self._loop is not None and self._asked_to_stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._asked_to_stop.set)

    async def stop(self) -> None:
        """Stop the consumers from the broker's loop, which goes on serving meanwhile."""
        self.ask_to_stop()
        await asyncio.to_thread(self._thread.join, 2 * STOP_TIMEOUT_S)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        asked_to_stop = self._asked_to_stop = asyncio.Event()
        self._is_running.set()
        # One runner each: a consumer whose topic is missing does not keep the others from their work.
        await asyncio.gather(*(self._keep(definition, asked_to_stop) for definition in self._definitions))

    async def _keep(self, definition: Definition, asked_to_stop: asyncio.Event) -> None:
        while not asked_to_stop.is_set():
            runner = Runner([definition], host=INSIDE, port=0, metrics=self.metrics, dial=self._dial)
            try:
                await run(runner, asked_to_stop)
            except BrokerClientError as error:
                logger.warning("%s cannot consume: %s; trying again", definition.name, error)
            try:
                await asyncio.wait_for(asked_to_stop.wait(), PAUSE_S)
            except TimeoutError:
                pass
