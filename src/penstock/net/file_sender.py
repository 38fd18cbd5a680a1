"""Sender of answers whose parts lie in files, in turns: as much as the socket takes, then again when it has room.

uvloop does not send files. Parts in memory go through the transport, which has to be empty before the next file: files
bypass it and go to the socket directly.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

from penstock.protocol.kafka.primitives import Buffer, Sendable

Part = Buffer | Sendable
_IN_MEMORY = frozenset((bytes, bytearray, memoryview))


def is_plain(parts: Sequence[Part]) -> TypeGuard[Sequence[Buffer]]:
    """Whether all of an answer is in memory, as most are: then it goes through the transport."""
    return _IN_MEMORY.issuperset(map(type, parts))


def can_send_files(transport: asyncio.Transport) -> bool:
    """Whether files may bypass the transport: not if it changes the bytes, as TLS does."""
    if transport.get_extra_info("sslcontext") is not None:
        return False
    return transport.get_extra_info("socket") is not None


class FileSender:
    """Sends answers. `on_progress` is called after each turn but the first, `on_failure` if the rest cannot be sent."""

    __slots__ = ("_loop", "_on_failure", "_on_progress", "_parts", "_transport", "_watched", "unsent")

    def __init__(
        self,
        transport: asyncio.Transport,
        parts: Iterable[Part],
        on_progress: Callable[[], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self._transport = transport
        self._parts = deque(parts)
        self._on_progress = on_progress
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._watched = -1  # a second descriptor of the socket: the transport's own may not be watched
        self.unsent = sum(map(len, self._parts))
        """Bytes that neither the transport nor the socket has yet."""

    def send(self) -> None:
        """Send as much as the socket takes. Also to be called when the transport has become empty."""
        try:
            while self._parts and not self._transport.get_write_buffer_size():
                self._send_one()
        except BlockingIOError:
            self._watch()
            return
        except OSError as error:
            self.stop()
            self._on_failure(f"records could not be sent: {error}")
            return
        self._unwatch()

    def _send_one(self) -> None:
        part = self._parts[0]
        if isinstance(part, bytes | bytearray | memoryview):
            self.unsent -= len(part)
            self._transport.write(part)
        else:
            self.unsent -= part.send(self._transport.get_extra_info("socket").fileno())
            if len(part):
                raise BlockingIOError
        self._parts.popleft()

    def _watch(self) -> None:
        if self._watched < 0:
            self._watched = os.dup(self._transport.get_extra_info("socket").fileno())
            self._loop.add_writer(self._watched, self._go_on)

    def _unwatch(self) -> None:
        if self._watched >= 0:
            self._loop.remove_writer(self._watched)
            os.close(self._watched)
            self._watched = -1

    def _go_on(self) -> None:
        self.send()
        self._on_progress()

    def stop(self) -> None:
        self._parts.clear()
        self._unwatch()
