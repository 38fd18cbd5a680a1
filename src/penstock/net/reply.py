"""The answer to a request: ready, still to come, or none.

Every handler's answer becomes a `Reply`, the only kind that a connection knows:

    Reply.now(buffers)    ready
    Reply.none()          nothing is sent (acks=0)
    Reply.close()         nothing is sent, and the connection ends: the only sign of an error for a client with acks=0
    Reply()               completed later, by a flush or by data; further requests are served meanwhile
    Reply.when(work)      completed by a coroutine; the connection's next request waits until it has ended, as in Kafka

A reply to come is lighter than an asyncio.Future: completing it calls its one listener, the connection, at once instead
of on the next turn of the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, Self

from penstock.protocol.kafka.primitives import Sendable

Buffers = Sequence[bytes | bytearray | memoryview | Sendable]
Work = Coroutine[Any, Any, Buffers | None]

SILENCE: Buffers = []
"""The body of a reply that is not sent. It takes its place in the order of answers all the same."""


class Reply:
    """A response, completed once. A body of None closes the connection without an answer."""

    __slots__ = ("api_key", "body", "done", "header", "listener", "on_abandon", "started", "work")

    gathers: ClassVar[bool] = False
    """Whether a reply that is ready waits for others of the same turn of the loop, to leave in one write with them."""

    def __init__(self, work: Work | None = None, body: Buffers | None = None, *, done: bool = False) -> None:
        self.done = done
        self.body = body
        self.header = b""  # the response header and the API: set by the dispatcher
        self.api_key = -1
        self.started = 0.0
        self.work = work
        self.on_abandon: Callable[[], None] | None = None
        self.listener: Callable[[], None] | None = None
        """Called when it is completed; the connection, as a rule."""

    @classmethod
    def now(cls, body: Buffers | None) -> Self:
        return cls(None, body, done=True)

    @classmethod
    def none(cls) -> Self:
        return cls.now(SILENCE)

    @classmethod
    def close(cls) -> Self:
        return cls.now(None)

    @classmethod
    def when(cls, work: Work) -> Self:
        return cls(work)

    def complete(self, body: Buffers | None) -> None:
        assert not self.done, "a request is answered once"
        self.done = True
        self.body = body
        self.on_abandon = None
        if self.listener is not None:
            self.listener()

    async def wait(self) -> Buffers | None:
        """Wait for the body: for a coroutine that listens in place of a connection."""
        if self.work is not None:
            return await self.work
        if not self.done:
            completed = asyncio.Event()
            self.listener = completed.set
            await completed.wait()
        return self.body

    def abandon(self) -> None:
        """Forget the listener: the client has gone, and the reply need not wait any longer."""
        self.listener = None
        if self.on_abandon is not None and not self.done:
            self.on_abandon()
