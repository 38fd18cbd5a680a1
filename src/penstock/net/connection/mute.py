"""The time for which a connection is not read, because its client is over a quota.

A socket that is not read does not report that its peer has gone. So it is checked once a second; if the peer has gone,
the mute ends at once: the requests that were sent are served, and then the end of the stream is seen.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import Final

CHECK_SECONDS: Final = 1.0
_GONE: Final = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR


class Mute:
    """The mute of one connection, from the first quota that it exceeds until it may be read again."""

    __slots__ = ("_descriptor", "_loop", "_on_end", "_timer", "_until")

    def __init__(self, transport: asyncio.Transport, seconds: float, on_end: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        sock = transport.get_extra_info("socket")
        self._descriptor = -1 if sock is None else sock.fileno()
        self._until = self._loop.time() + seconds
        self._on_end = on_end
        self._timer = self._next()

    def extend(self, seconds: float) -> None:
        """Extend the mute, because another quota was exceeded meanwhile; the later end counts."""
        self._until = max(self._until, self._loop.time() + seconds)

    def cancel(self) -> None:
        self._timer.cancel()

    def _next(self) -> asyncio.TimerHandle:
        return self._loop.call_later(min(CHECK_SECONDS, max(0.0, self._until - self._loop.time())), self._check)

    def _check(self) -> None:
        if self._loop.time() >= self._until or self._peer_is_gone():
            self._on_end()
        else:
            self._timer = self._next()

    def _peer_is_gone(self) -> bool:
        if self._descriptor < 0:
            return False
        poll = select.poll()
        poll.register(self._descriptor, _GONE)
        return bool(poll.poll(0))
