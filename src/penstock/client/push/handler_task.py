"""The task that calls the handler of one subscription, one message after the other."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable

from penstock.client.push.acknowledgements import Acknowledgements
from penstock.client.push.errors import NotDone
from penstock.client.push.message import Message
from penstock.protocol.push.messages import Reset

logger = logging.getLogger(__name__)

AsyncHandler = Callable[[Message], Awaitable[object]] | Callable[[Message], object]
AsyncResetHandler = Callable[[Reset], Awaitable[object]] | Callable[[Reset], object]
ACKNOWLEDGE_AFTER_S = 0.005


class HandlerTask:
    """A target. `acknowledge` sends acknowledgements; `is_current` says whether a connection is still in use."""

    def __init__(
        self,
        name: str,
        handler: AsyncHandler,
        acknowledge: Callable[[Acknowledgements], None],
        is_current: Callable[[int], bool],
        on_reset: AsyncResetHandler | None = None,
    ) -> None:
        self.acknowledge_count = 50
        self._handler = handler
        self._acknowledge = acknowledge
        self._is_current = is_current
        self._on_reset = on_reset
        self._waiting: deque[list[Message] | Reset] = deque()
        self._wake = asyncio.Event()
        self._is_stopping = False
        self._task = asyncio.create_task(self._run(), name=f"push-{name}")

    def deliver(self, messages: list[Message]) -> None:
        self._waiting.append(messages)
        self._wake.set()

    def reset(self, reset: Reset) -> None:
        self._waiting.append(reset)
        self._wake.set()

    def lost(self, error: Exception) -> None:
        self.stop()

    def stop(self) -> None:
        """End after the current message."""
        self._is_stopping = True
        self._wake.set()

    async def join(self, timeout_s: float) -> None:
        """Wait for the task, except from the handler itself; it is cancelled if it does not end in time."""
        if asyncio.current_task() is not self._task:
            await asyncio.wait([self._task], timeout=timeout_s)
            self._task.cancel()

    async def _run(self) -> None:
        acknowledgements = Acknowledgements()
        while not self._is_stopping:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            first = self._waiting.popleft()
            if isinstance(first, Reset):
                await self._handle_reset(first)
            elif self._is_current(first[0].generation):
                await self._handle(first, acknowledgements)

    async def _handle_reset(self, reset: Reset) -> None:
        if self._on_reset is None:
            return  # the core answers it
        try:
            outcome = self._on_reset(reset)
            if inspect.isawaitable(outcome):
                await outcome
        except Exception:
            logger.exception("the reset of %s failed; it comes again with the next connection", reset.subscription)

    async def _handle(self, batch: list[Message], acknowledgements: Acknowledgements) -> None:
        handler, now = self._handler, time.monotonic
        due = now() + ACKNOWLEDGE_AFTER_S
        for message in batch:
            try:
                outcome = handler(message)
                if outcome is not None and inspect.isawaitable(outcome):
                    await outcome
            except NotDone:
                acknowledgements.not_done(message)
            except Exception:
                logger.exception(
                    "the handler of %s failed for %r: the broker sends it again", message.subscription, message
                )
                acknowledgements.not_done(message)
            else:
                acknowledgements.done(message)
            if self._is_stopping:
                break
            if acknowledgements.count >= self.acknowledge_count or now() >= due:
                self._acknowledge(acknowledgements)
                await asyncio.sleep(0)
                due = now() + ACKNOWLEDGE_AFTER_S
                if not self._is_current(message.generation):
                    return
        if acknowledgements.count:
            self._acknowledge(acknowledgements)
