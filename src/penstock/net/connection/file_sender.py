"""Senders of large answers, in turns: as much as the client takes, then again when it has read.

    FileSender     the kernel sends files from the page cache; for transports that pass bytes on as they are
    PortionSender  everything goes through the transport a portion at a time; under TLS, where anything that bypasses
                   it would be plain text on the wire, and where one large write would hold up the event loop

uvloop does not send files. Parts in memory go through the transport, which has to be empty before the next file of a
FileSender: its files go to the socket directly. Only `raw_socket` makes the socket for that, and it makes none for a
transport that changes the bytes.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NewType, Protocol, TypeGuard

from penstock.model.limits import TURN_NS
from penstock.protocol.kafka.primitives import Buffer, Sendable

Part = Buffer | Sendable
_IN_MEMORY = frozenset((bytes, bytearray, memoryview))
PORTION_BYTES: Final = 96 * 1024
"""What is read, encrypted and sent in one go. It lies in four buffers on its way, which the cache of a core should
hold: with 256 KiB a fetch over TLS takes a fifth more CPU."""

RawSocket = NewType("RawSocket", int)
"""The descriptor of a socket below a transport that passes bytes on as they are."""


def is_plain(parts: Sequence[Part]) -> TypeGuard[Sequence[Buffer]]:
    """Whether all of an answer is in memory, as most are: then it goes through the transport."""
    return _IN_MEMORY.issuperset(map(type, parts))


def raw_socket(transport: asyncio.Transport) -> RawSocket | None:
    """The socket of a transport that files may bypass; None if it changes the bytes, as TLS does."""
    if transport.get_extra_info("sslcontext") is not None:
        return None
    socket = transport.get_extra_info("socket")
    return None if socket is None else RawSocket(socket.fileno())


class Sender(Protocol):
    """One answer, or some that leave together, on their way out."""

    unsent: int
    """Bytes that neither the transport nor the socket has yet."""

    def send(self) -> None:
        """Send as much as the client takes. Also to be called when the transport has become empty."""
        ...

    def stop(self) -> None: ...


def sender_of(
    transport: asyncio.Transport,
    parts: Iterable[Part],
    on_progress: Callable[[], None],
    on_failure: Callable[[str], None],
) -> Sender:
    """The sender for a transport.

    `on_progress` is called after each turn but the first, `on_failure` if the rest cannot be sent.
    """
    raw = raw_socket(transport)
    if raw is None:
        return PortionSender(transport, parts, on_progress, on_failure)
    return FileSender(transport, raw, parts, on_progress, on_failure)


class FileSender:
    """Implements `Sender` past the transport."""

    __slots__ = ("_loop", "_on_failure", "_on_progress", "_parts", "_raw", "_transport", "_watched", "unsent")

    def __init__(
        self,
        transport: asyncio.Transport,
        raw: RawSocket,
        parts: Iterable[Part],
        on_progress: Callable[[], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self._transport = transport
        self._raw = raw
        self._parts = deque(parts)
        self._on_progress = on_progress
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._watched = -1  # a second descriptor of the socket: the transport's own may not be watched
        self.unsent = sum(map(len, self._parts))

    def send(self) -> None:
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
            self.unsent -= part.send(self._raw)
            if len(part):
                raise BlockingIOError
        self._parts.popleft()

    def _watch(self) -> None:
        if self._watched < 0:
            self._watched = os.dup(self._raw)
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


class PortionSender:
    """Implements `Sender` through the transport. After a turn of a few milliseconds, other connections get theirs."""

    __slots__ = ("_is_sending", "_loop", "_next_turn", "_on_failure", "_on_progress", "_parts", "_transport", "unsent")

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
        self._next_turn: asyncio.Handle | None = None
        self._is_sending = False
        self.unsent = sum(map(len, self._parts))

    def send(self) -> None:
        if self._is_sending:
            return  # a write has emptied the transport, which says so before it returns
        self._is_sending = True
        turn_end = time.perf_counter_ns() + TURN_NS
        try:
            while self._parts and not self._transport.get_write_buffer_size():
                if time.perf_counter_ns() > turn_end:
                    if self._next_turn is None:
                        self._next_turn = self._loop.call_soon(self._go_on)
                    break
                self._send_portion()
        except OSError as error:
            self.stop()
            self._on_failure(f"records could not be sent: {error}")
        finally:
            self._is_sending = False

    def _send_portion(self) -> None:
        """Write up to a portion in one go, so that small parts share a record of TLS."""
        taken: list[Buffer] = []
        size = 0
        while self._parts and size < PORTION_BYTES:
            part = self._parts[0]
            room = PORTION_BYTES - size
            if not isinstance(part, bytes | bytearray | memoryview):
                piece: Buffer = part.read(room)
                is_done = not len(part)
            elif len(part) <= room:
                piece, is_done = part, True
            else:
                whole = memoryview(part)
                piece, self._parts[0] = whole[:room], whole[room:]
                is_done = False
            taken.append(piece)
            size += len(piece)
            if is_done:
                self._parts.popleft()
        self.unsent -= size
        self._transport.writelines(taken)

    def _go_on(self) -> None:
        self._next_turn = None
        self.send()
        self._on_progress()

    def stop(self) -> None:
        self._parts.clear()
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None
