"""The threads of a client: one receives, the others wait for their turn or are in a handler.

Who receives messages for a handler that is free calls it right there, and another thread goes on receiving: a message
is handled by the thread that has it, without waiting for another one to wake up. There is a thread more than there are
handlers, so one is always free to receive, however long handlers take.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from penstock.client.push.handling import Handling


class Crew:
    """From `connect` to `disconnect`. `receive` receives once, and says whether there may be more."""

    def __init__(self, receive: Callable[[], bool]) -> None:
        self._receive = receive
        self._baton = threading.Lock()  # whoever has it receives
        self._due: deque[Handling] = deque()  # theirs to run; touched by who has the baton
        self._handlings: list[Handling] = []
        self._threads: list[threading.Thread] = []
        self._growing = threading.Lock()
        self._ensure_one_more()

    def take_on(self, handling: Handling) -> None:
        """Give a thread to a handler, perhaps that of one that is over."""
        handling.is_due = self._due.append
        with self._growing:
            self._handlings = [one for one in self._handlings if not one.is_over]
            self._handlings.append(handling)
            self._ensure_one_more()

    def join(self, timeout_s: float) -> None:
        """After `receive` has come to an end. Not for the thread that calls this."""
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _ensure_one_more(self) -> None:
        while len(self._threads) <= len(self._handlings):
            number = len(self._threads) + 1
            thread = threading.Thread(target=self._run, name=f"push-client-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self) -> None:
        while True:
            with self._baton:
                handling = self._next()
            if handling is None:
                return
            handling.run()

    def _next(self) -> Handling | None:
        """Receive until there is something to handle; None if nothing will come any more."""
        while not self._due:
            if not self._receive():
                return None
        return self._due.popleft()
