"""What waits for the handler of one subscription, and the calls of it: by one thread at a time, in order."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from penstock.client.push.acknowledgements import Acknowledgements
from penstock.client.push.errors import NotDone
from penstock.client.push.message import Message
from penstock.protocol.push.messages import Reset

log = logging.getLogger(__name__)

Handler = Callable[[Message], object]
ResetHandler = Callable[[Reset], object]
ACKNOWLEDGE_AFTER_S = 0.005
"""A slow handler's work is acknowledged after so long, a quick one's many messages at a time."""


class Handling:
    """A target. `acknowledge` sends what it is given; `is_current` tells whether a connection is still the one.

    When something comes and nobody is at it, `is_due` is called, and somebody has to call `run`.
    """

    def __init__(
        self,
        handler: Handler,
        acknowledge: Callable[[Acknowledgements], None],
        is_current: Callable[[int], bool],
        on_reset: ResetHandler | None = None,
    ) -> None:
        self.acknowledge_count = 50
        self.is_due: Callable[[Handling], object] = _nobody
        self._handler = handler
        self._acknowledge = acknowledge
        self._is_current = is_current
        self._on_reset = on_reset
        self._items: deque[list[Message] | Reset] = deque()
        self._is_stopping = False
        self._running = threading.Lock()  # held from `is_due` to the end of `run`
        self._runner = 0
        self._acknowledgements = Acknowledgements()

    def deliver(self, messages: list[Message]) -> None:
        self._add(messages)

    def reset(self, reset: Reset) -> None:
        self._add(reset)

    def lost(self, error: Exception) -> None:
        self.stop()

    def stop(self) -> None:
        """The message in hand is the last one."""
        self._is_stopping = True

    def join(self, timeout_s: float) -> bool:
        """After `stop`: whether nothing is in hand any more. From the handler itself it cannot be waited for."""
        if self._runner == threading.get_ident() or not self._running.acquire(timeout=timeout_s):
            return False
        self._running.release()
        return True

    @property
    def is_over(self) -> bool:
        return self._is_stopping and not self._running.locked()

    def run(self) -> None:
        """Until nothing is left."""
        is_mine = True
        while is_mine:
            self._runner = threading.get_ident()
            while self._items and not self._is_stopping:
                self._handle(self._items.popleft())
            self._runner = 0
            self._running.release()
            # What came in between found it running.
            is_mine = bool(self._items) and not self._is_stopping and self._running.acquire(blocking=False)

    def _add(self, item: list[Message] | Reset) -> None:
        self._items.append(item)
        if not self._is_stopping and self._running.acquire(blocking=False):
            self.is_due(self)

    def _handle(self, item: list[Message] | Reset) -> None:
        if isinstance(item, Reset):
            self._handle_reset(item)
        elif self._is_current(item[0].generation):
            self._handle_messages(item, self._acknowledgements)

    def _handle_reset(self, reset: Reset) -> None:
        """Between the messages before it and those after it."""
        if self._on_reset is None:
            return  # the core answers it
        try:
            self._on_reset(reset)
        except BaseException:
            log.exception("the reset of %s failed; it comes again with the next connection", reset.subscription)

    def _handle_messages(self, batch: list[Message], acknowledgements: Acknowledgements) -> None:
        handler, done, now = self._handler, acknowledgements.done, time.monotonic
        due = now() + ACKNOWLEDGE_AFTER_S
        for message in batch:
            try:
                handler(message)
            except NotDone:
                acknowledgements.not_done(message)
            except BaseException:  # sys.exit(), too: the thread is not the handler's to end
                log.exception(
                    "the handler of %s failed for %r: the broker gives it again", message.subscription, message
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


def _nobody(_: Handling) -> None:
    """Before it belongs to a crew nothing comes."""
