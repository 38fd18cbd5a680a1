"""An answer that is not ready yet.

Lighter than an asyncio.Future: it is completed on the event loop by the flush or the data it waits for, and calls
its one listener, the connection, at once instead of on the next turn of the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from penstock.protocol.kafka.primitives import Sendable

Buffers = Sequence[bytes | bytearray | memoryview | Sendable]

SILENCE: Buffers = []
"""The body of an answer that is not sent, its turn having come: for a coroutine, whose None closes the connection."""


class Pending:
    """A response to come. Its body is set once; a body of None closes the connection without an answer."""

    __slots__ = ("_listener", "api_key", "body", "done", "header", "on_abandon", "started")

    def __init__(self) -> None:
        self.done = False
        self.body: Buffers | None = None
        self.header = b""  # the response header, set by whoever accepted the request
        self.api_key = -1
        self.started = 0.0
        self.on_abandon: Callable[[], None] | None = None
        self._listener: Callable[[], None] | None = None

    def complete(self, body: Buffers | None) -> None:
        assert not self.done, "an answer is given once"
        self.done = True
        self.body = body
        self.on_abandon = None
        if self._listener is not None:
            self._listener()

    def listen(self, listener: Callable[[], None]) -> None:
        self._listener = listener

    async def wait(self) -> Buffers | None:
        """The body, when it is there: for a coroutine that goes on from here instead of a connection."""
        if not self.done:
            completed = asyncio.Event()
            self.listen(completed.set)
            await completed.wait()
        return self.body

    def abandon(self) -> None:
        """Nobody waits any more: the client is gone."""
        self._listener = None
        if self.on_abandon is not None and not self.done:
            self.on_abandon()
