"""The thread that calls the handler of one subscription: not the receiving one, so that a handler may publish."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

from penstock.client.push.acknowledgements import Acknowledgements
from penstock.client.push.errors import NotDone
from penstock.client.push.message import Message
from penstock.protocol.push.messages import Reset

logger = logging.getLogger(__name__)

Handler = Callable[[Message], object]
ResetHandler = Callable[[Reset], object]
ACKNOWLEDGE_AFTER_S = 0.005
"""Acknowledgements wait at most this long: a slow handler's go one by one, those of a quick one in batches."""


class HandlerThread:
    """A target. `acknowledge` sends acknowledgements; `is_current` says whether a connection is still in use."""

    def __init__(
        self,
        name: str,
        handler: Handler,
        acknowledge: Callable[[Acknowledgements], None],
        is_current: Callable[[int], bool],
        on_reset: ResetHandler | None = None,
    ) -> None:
        self.acknowledge_count = 50
        self._handler = handler
        self._acknowledge = acknowledge
        self._is_current = is_current
        self._on_reset = on_reset
        self._batches: SimpleQueue[list[Message] | Reset | None] = SimpleQueue()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name=f"push-{name}", daemon=True)
        self._thread.start()

    def deliver(self, messages: list[Message]) -> None:
        self._batches.put(messages)

    def reset(self, reset: Reset) -> None:
        self._batches.put(reset)

    def lost(self, error: Exception) -> None:
        self.stop()

    def stop(self) -> None:
        """End after the current message. The handler itself cannot wait for that."""
        self._is_stopping = True
        self._batches.put(None)

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread. Returns whether it has ended."""
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        acknowledgements = Acknowledgements()
        while not self._is_stopping:
            batch = self._batches.get()
            if batch is None:
                break
            if isinstance(batch, Reset):
                self._handle_reset(batch)
            elif self._is_current(batch[0].generation):
                self._handle(batch, acknowledgements)

    def _handle_reset(self, reset: Reset) -> None:
        """Handle a reset, between the messages before it and those after it."""
        if self._on_reset is None:
            return  # the core answers it
        try:
            self._on_reset(reset)
        except BaseException:
            logger.exception("the reset of %s failed; it comes again with the next connection", reset.subscription)

    def _handle(self, batch: list[Message], acknowledgements: Acknowledgements) -> None:
        handler, done, now = self._handler, acknowledgements.done, time.monotonic
        due = now() + ACKNOWLEDGE_AFTER_S
        for message in batch:
            try:
                handler(message)
            except NotDone:
                acknowledgements.not_done(message)
            except BaseException:  # sys.exit(), too: a handler must not end the thread
                logger.exception(
                    "the handler of %s failed for %r: the broker sends it again", message.subscription, message
                )
                acknowledgements.not_done(message)
            else:
                done(message)
            if self._is_stopping:
                break
            if acknowledgements.count >= self.acknowledge_count or now() >= due:
                self._acknowledge(acknowledgements)
                due = now() + ACKNOWLEDGE_AFTER_S
                if not self._is_current(message.generation):
                    return
        if acknowledgements.count:
            self._acknowledge(acknowledgements)
