"""A handshake whose steps run in a thread, for clients that are asked for certificates.

OpenSSL reads all certificates that a client shows before it looks at any of them, and one of 400 bytes can be made to
cost a tenth of a second, without an authority that we know. OpenSSL gives the interpreter's lock back meanwhile, so in
a thread nobody else waits for that.

The steps have buffers of their own, which nobody else touches while a thread works: between two of them bytes are moved
from those of the event loop's protocol, and back. After the handshake they go the same way, one more copy.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

INCOMING_BYTES_MAX: Final = 128 << 10
"""What a client may send during a handshake."""

Step = Callable[[], Exception | None]


class Stream(Protocol):
    """The stream of a handshake."""

    def hold(self) -> None:
        """Take no bytes until `release`."""
        ...

    def release(self) -> None: ...
    def step(self) -> None:
        """Have the protocol ask for the next step."""
        ...


class ThreadedHandshake:
    """Stands for a context and, once it is asked for one, for the `SSLObject` that decrypts a stream.

    `run` runs a step in a thread, when its turn has come; `stream` is set before the handshake begins.
    """

    stream: Stream
    _object: ssl.SSLObject
    _incoming: ssl.MemoryBIO
    _outgoing: ssl.MemoryBIO

    def __init__(self, context: ssl.SSLContext, run: Callable[[Step], Awaitable[Exception | None]]) -> None:
        self._context, self._run = context, run
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._received_bytes = 0
        self._task: asyncio.Task[None] | None = None  # a step that is waiting for its turn, or being done
        self._result: Exception | None = None
        self._is_done = False

    def close(self) -> None:
        """Do no step that has not begun. For the end of the stream."""
        if self._task is not None:
            self._task.cancel()

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, **options: Any) -> ThreadedHandshake:
        self._incoming, self._outgoing = incoming, outgoing
        self._object = self._context.wrap_bio(self._in, self._out, **options)
        return self

    # --- the handshake -----------------------------------------------------------------------------------------------

    def do_handshake(self) -> None:
        """Begin a step, or tell the result of the last one."""
        if self._is_done:
            return
        if self._task is None:
            result, self._result = self._result, None
            if result is not None and not (isinstance(result, ssl.SSLWantReadError) and self._incoming.pending):
                raise result
            self._received_bytes += self._incoming.pending
            if self._received_bytes > INCOMING_BYTES_MAX:
                raise ssl.SSLError(ssl.SSL_ERROR_SSL, f"a handshake of more than {INCOMING_BYTES_MAX} bytes")
            self._take()
            self.stream.hold()
            self._task = asyncio.get_running_loop().create_task(self._do_step())
        raise ssl.SSLWantReadError

    async def _do_step(self) -> None:
        self._result = await self._run(self._step)
        self._task = None
        self._is_done = self._result is None
        self._give()
        self.stream.release()
        self.stream.step()

    def _step(self) -> Exception | None:
        """In a thread."""
        try:
            self._object.do_handshake()
        except Exception as error:
            return error
        return None

    # --- afterwards --------------------------------------------------------------------------------------------------

    def _take(self) -> None:
        if self._incoming.pending:
            self._in.write(self._incoming.read())

    def _give(self) -> None:
        if self._out.pending:
            self._outgoing.write(self._out.read())

    def read(self, size: int = 1024, buffer: Any = None) -> Any:
        self._take()
        try:
            return self._object.read(size, buffer)
        finally:
            self._give()

    def write(self, data: Any) -> int:
        try:
            return self._object.write(data)
        finally:
            self._give()

    def pending(self) -> int:
        """Bytes that are decrypted already, and those that can be: who reads goes on while there are any."""
        return self._object.pending() + self._in.pending

    def unwrap(self) -> None:
        self._take()
        try:
            self._object.unwrap()
        finally:
            self._give()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._object, name)
